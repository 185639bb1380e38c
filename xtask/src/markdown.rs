//! Reads what a Markdown document refers to: headings, links, code.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// The parts of one document that can be checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    /// Names by which links reach the headings, as GitHub makes them.
    pub anchors: Vec<String>,
    /// Line and target of each link.
    pub links: Vec<(usize, String)>,
    /// Line and text of each piece of code within a sentence.
    pub code: Vec<(usize, String)>,
    /// Line and text of each command in a block of shell commands.
    pub shell: Vec<(usize, String)>,
}

/// Languages of blocks that hold shell commands.
const SHELL: [&str; 3] = ["sh", "bash", "shell"];

pub fn read(text: &str) -> Document {
    let mut document = Document::default();
    // The text of the heading, and the lines of the block of shell commands, that is being read.
    let (mut heading, mut shell) = (String::new(), None);
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let line = text.get(..range.start).unwrap_or_default().matches('\n').count().saturating_add(1);
        match event {
            Event::Start(Tag::Heading { .. }) => heading.clear(),
            Event::End(TagEnd::Heading(_)) => document.anchors.push(unique(anchor(&heading), &document.anchors)),
            Event::Start(Tag::Link { dest_url, .. }) => document.links.push((line, dest_url.into_string())),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) if SHELL.contains(&&*language) => {
                shell = Some(Vec::new());
            }
            Event::End(TagEnd::CodeBlock) => document.shell.extend(commands(&shell.take().unwrap_or_default())),
            Event::Text(text) => match &mut shell {
                Some(block) => block.extend((line..).zip(text.lines().map(str::to_owned))),
                None => heading.push_str(&text),
            },
            Event::Code(code) => {
                heading.push_str(&code);
                document.code.push((line, code.into_string()));
            }
            _ => {}
        }
    }
    document
}

/// Commands of a shell block: lines without comments; a line that ends with `\` continues on the next one. The text
/// that a command gets with `<<NAME` is no command.
fn commands(block: &[(usize, String)]) -> Vec<(usize, String)> {
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

/// The name of a heading in links: lower case, hyphens for spaces, no punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
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
        let text = "# The `crtx` command\nSee [b](c.md#d) and `e/f.rs`, [`g`](h \"title\"), [i][1].\n## Twice\n## Twice\n\n[1]: i.md\n";
        let document = read(text);
        assert_eq!(document.anchors, ["the-crtx-command", "twice", "twice-1"]);
        let links: Vec<_> = document.links.iter().map(|(line, link)| (*line, link.as_str())).collect();
        assert_eq!(links, [(2, "c.md#d"), (2, "h"), (2, "i.md")]);
        let code: Vec<_> = document.code.iter().map(|(_, code)| code.as_str()).collect();
        assert_eq!(code, ["crtx", "e/f.rs", "g"]);
    }

    #[test]
    fn headings_keep_letters_digits_hyphens_and_underscores() {
        assert_eq!(read("# `POST /v1` – what it does, and why_not?").anchors, ["post-v1--what-it-does-and-why_not"]);
        assert_eq!(read("# [1.0](link) first").anchors, ["10-first"]);
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
