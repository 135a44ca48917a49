//! Lines of a help.

/// Where they end.
const WIDTH: usize = 80;

/// Options with what they are for, in two columns.
pub fn listed(entries: impl IntoIterator<Item = (String, &'static str)>, column: usize) -> String {
    let line = |(names, help): (String, &str)| {
        let head = format!(" {}", wrapped(&names, 1));
        let fits = head.len() < column;
        let first = if fits { format!("{head:<column$}") } else { format!("{head}\n{:column$}", "") };
        first + &wrapped(help, column) + "\n"
    };
    entries.into_iter().map(line).collect()
}

/// Broken into lines that begin at this column, the first of them being there already.
pub fn wrapped(text: &str, indent: usize) -> String {
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
