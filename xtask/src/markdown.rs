//! Reads what a Markdown document refers to: headings, links, code.

/// The parts of one document that can be checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Names by which links reach the headings, as GitHub makes them.
    pub anchors: Vec<String>,
    /// Line and target of each link.
    pub links: Vec<(usize, String)>,
    /// Line and text of sentences and headings, without code.
    pub prose: Vec<(usize, String)>,
    /// Line and text of each piece of code within a sentence.
    pub code: Vec<(usize, String)>,
    /// Line and text of each command in a block of shell commands.
    pub shell: Vec<(usize, String)>,
}

/// Languages of blocks that hold shell commands.
const SHELL: [&str; 3] = ["sh", "bash", "shell"];

pub fn read(text: &str) -> Document {
    let mut document = Document::default();
    let mut lines = (1_usize..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            let shell = SHELL.contains(&language.trim());
            let block = lines.by_ref().take_while(|(_, line)| !line.trim_start().starts_with("```"));
            let block: Vec<_> = block.collect();
            if shell {
                document.shell.extend(commands(&block));
            }
            continue;
        }
        if let Some(heading) = line.strip_prefix('#') {
            let anchor = anchor(heading.trim_start_matches('#').trim());
            document.anchors.push(unique(anchor, &document.anchors));
        }
        let (prose, code) = split_code(line);
        document.code.extend(code.into_iter().map(|code| (number, code)));
        document.links.extend(links(&prose).into_iter().map(|target| (number, target)));
        document.prose.push((number, prose));
    }
    document
}

/// Commands of a shell block: lines without comments; a line that ends with `\` continues on the next one. The text
/// that a command gets with `<<NAME` is no command.
fn commands(block: &[(usize, &str)]) -> Vec<(usize, String)> {
    let mut commands: Vec<(usize, String)> = Vec::new();
    let (mut continued, mut text_until) = (false, None);
    for (number, line) in block {
        if let Some(end) = text_until {
            text_until = Some(end).filter(|end| *end != line.trim());
            continue;
        }
        text_until = line.split_once("<<").map(|(_, end)| end.trim());
        let line = line.split(" # ").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (text, more) = line.strip_suffix('\\').map_or((line, false), |text| (text.trim_end(), true));
        match commands.last_mut() {
            Some((_, command)) if continued => *command = format!("{command} {text}"),
            _ => commands.push((*number, text.to_owned())),
        }
        continued = more;
    }
    commands
}

/// A line without its code, and the code.
fn split_code(line: &str) -> (String, Vec<String>) {
    let (mut prose, mut code) = (String::new(), Vec::new());
    for (index, piece) in line.split('`').enumerate() {
        if index.is_multiple_of(2) {
            prose.push_str(piece);
        } else {
            prose.push_str("code");
            code.push(piece.to_owned());
        }
    }
    (prose, code)
}

/// Targets of `[text](target)` and `[name]: target`.
fn links(prose: &str) -> Vec<String> {
    let mut targets = Vec::new();
    if let Some((name, target)) = prose.split_once("]: ")
        && name.starts_with('[')
    {
        targets.push(target.trim().to_owned());
    }
    let mut rest = prose;
    while let Some((_, after)) = rest.split_once("](") {
        let (target, after) = after.split_once(')').unwrap_or((after, ""));
        targets.push(target.split(' ').next().unwrap_or_default().to_owned());
        rest = after;
    }
    targets
}

/// The name of a heading in links: lower case, hyphens for spaces, no punctuation.
fn anchor(heading: &str) -> String {
    let shown = match heading.split_once("](") {
        Some((text, rest)) if text.starts_with('[') => {
            format!("{}{}", text.trim_start_matches('['), rest.split_once(')').map_or("", |(_, rest)| rest))
        }
        _ => heading.to_owned(),
    };
    let kept = shown.to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// The second heading of one name gets `-1`, the third `-2`.
fn unique(anchor: String, taken: &[String]) -> String {
    if !taken.contains(&anchor) {
        return anchor;
    }
    let mut numbered = (1_usize..).map(|number| format!("{anchor}-{number}"));
    numbered.find(|name| !taken.contains(name)).unwrap_or(anchor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_links_and_code_are_read() {
        let text = "# The `crtx` command\nSee [b](c.md#d) and `e/f.rs`, [`g`](h \"title\").\n## Twice\n## Twice\n\n[1]: i.md\n";
        let document = read(text);
        assert_eq!(document.anchors, ["the-crtx-command", "twice", "twice-1"]);
        let links: Vec<_> = document.links.iter().map(|(line, link)| (*line, link.as_str())).collect();
        assert_eq!(links, [(2, "c.md#d"), (2, "h"), (6, "i.md")]);
        let code: Vec<_> = document.code.iter().map(|(_, code)| code.as_str()).collect();
        assert_eq!(code, ["crtx", "e/f.rs", "g"]);
    }

    #[test]
    fn headings_keep_letters_digits_hyphens_and_underscores() {
        assert_eq!(anchor("`POST /v1` – what it does, and why_not?"), "post-v1--what-it-does-and-why_not");
        assert_eq!(anchor("[1.0](link) first"), "10-first");
    }

    #[test]
    fn the_text_that_a_command_gets_is_no_command() {
        let document = read("```sh\ncat > a <<END\nb c\nEND\nd\n```\n");
        assert_eq!(document.shell, [(2, "cat > a <<END".to_owned()), (5, "d".to_owned())]);
    }

    #[test]
    fn only_blocks_of_a_shell_hold_commands() {
        let text = "```sh\n# comment\na b \\\n  c\nd # why\n```\n```rust\ne `f`\n```\n";
        let document = read(text);
        assert_eq!(document.shell, [(3, "a b c".to_owned()), (5, "d".to_owned())]);
        assert_eq!(document.code, []);
    }
}
