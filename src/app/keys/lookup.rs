//! Reading the table: dispatch and footer.

use super::{Action, Context, Key, bindings};

/// What `key` does where these contexts hold; an earlier one's meaning of a key goes before a later one's.
pub fn action(contexts: &[Context], key: Key) -> Option<Action> {
    let of = |context: &Context| {
        let here = bindings().filter(|binding| binding.context == *context);
        here.flat_map(|binding| binding.keys).find(|(pattern, _)| pattern.matches(key))
    };
    contexts.iter().find_map(of).map(|(_, action)| *action)
}

/// The hints for these contexts that fit into `width` columns, as (keys, word), written `keys word` with two blanks
/// between them. The least needed go first; help and quit never.
pub fn footer(
    contexts: &[Context],
    width: usize,
    written: impl Fn(&str) -> String,
) -> Vec<(String, &'static str)> {
    // While time is travelled, what else the screen can do is left to the help.
    let travels = contexts.contains(&Context::Time);
    let is_shown = |at: Context, hint: &(&str, &str, u8)| at != Context::Main || !travels || hint.2 == 0;
    let of = |at: &Context| {
        let at = *at;
        let here = bindings().filter(move |binding| binding.context == at);
        here.filter_map(|binding| binding.hint).filter(move |hint| is_shown(at, hint))
    };
    let mut hints: Vec<(String, &str, u8)> = Vec::new();
    for (keys, word, shed) in contexts.iter().flat_map(of) {
        let keys = written(keys);
        // As with the keys, an earlier context goes before a later one.
        if !hints.iter().any(|(known, ..)| known.split(", ").any(|known| known == keys)) {
            hints.push((keys, word, shed));
        }
    }
    hints.sort_by_key(|(.., shed)| *shed > 0);
    let length = |hints: &[(String, &str, u8)]| {
        let words = hints.iter().map(|(keys, word, _)| keys.chars().count() + word.chars().count() + 3);
        words.sum::<usize>().saturating_sub(2)
    };
    while length(&hints) > width {
        let least = hints.iter().map(|(.., shed)| *shed).max().unwrap_or(0);
        if least == 0 {
            break;
        }
        hints.retain(|(.., shed)| *shed != least);
    }
    hints.into_iter().map(|(keys, word, _)| (keys, word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::{KeyCode, Screen, keys::key::NAMED_KEYS};

    fn every_key() -> Vec<Key> {
        let all = (' '..='~').map(KeyCode::Char).chain(NAMED_KEYS.iter().copied());
        all.flat_map(|code| [Key { code, ctrl: false }, Key { code, ctrl: true }]).collect()
    }

    #[test]
    fn no_key_means_two_things_in_one_context() {
        for context in Context::all() {
            for key in every_key() {
                let here = bindings().filter(|b| b.context == context || b.context == Context::Anywhere);
                let found: Vec<_> =
                    here.flat_map(|b| b.keys).filter(|(p, _)| p.matches(key)).map(|(_, a)| a).collect();
                assert!(found.len() <= 1, "{key:?} in {context:?} means {found:?}");
            }
        }
    }

    #[test]
    fn every_binding_can_be_reached_by_a_key() {
        for binding in bindings() {
            for (pattern, _) in binding.keys {
                assert!(every_key().iter().any(|key| pattern.matches(*key)), "{pattern:?}");
            }
        }
    }

    #[test]
    fn the_footer_sheds_in_order_and_keeps_help_and_quit() {
        let words = |width| {
            footer(&[Context::Main, Context::Anywhere], width, str::to_owned)
                .iter()
                .map(|(_, word)| *word)
                .collect::<Vec<_>>()
        };
        assert!(words(200).contains(&"export"));
        assert_eq!(words(56), ["quit", "help", "load", "knob", "turn", "freeze"]);
        assert_eq!(words(0), ["quit", "help"]);
    }

    #[test]
    fn the_footer_names_no_key_twice() {
        let hints = footer(
            &[Context::Screen(Screen::Segments), Context::Main, Context::Anywhere],
            300,
            str::to_owned,
        );
        let of =
            |keys: &str| hints.iter().filter(|hint| hint.0 == keys).map(|hint| hint.1).collect::<Vec<_>>();
        assert_eq!((of("↑↓"), of("←→"), of("Enter")), (vec!["select"], vec!["sort"], vec!["go there"]));
    }
}
