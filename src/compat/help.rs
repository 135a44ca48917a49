//! The help of a stand-in, made of its table of options.

use super::options::Choice;

/// Where lines end.
const WIDTH: usize = 80;

/// Options with what they are for, in two columns; `nothing` is what stands in the second where there is nothing.
pub fn listed<'a>(options: impl IntoIterator<Item = &'a Choice>, column: usize, nothing: &str) -> String {
    let line = |option: &Choice| {
        let head = format!(" {}", wrapped(option.written, 1));
        let fits = head.len() < column;
        let first = if fits { format!("{head:<column$}") } else { format!("{head}\n{:column$}", "") };
        first + &wrapped(if option.help.is_empty() { nothing } else { option.help }, column) + "\n"
    };
    options.into_iter().map(line).collect()
}

/// What is different on purpose, below its heading.
pub fn deviations(texts: &[&str]) -> String {
    let lines: String = texts.iter().map(|text| format!(" - {}\n", wrapped(text, 3))).collect();
    format!("\nWhat is different on purpose:\n{lines}")
}

/// Broken into lines that begin at this column, the first of them being there already.
fn wrapped(text: &str, indent: usize) -> String {
    let (mut lines, mut column) = (String::new(), indent);
    for word in text.split(' ') {
        if column > indent && column + 1 + word.len() > WIDTH {
            lines += &format!("\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += word.len();
    }
    lines
}
