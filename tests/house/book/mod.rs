//! The book of docs/: its table of contents, its anchors, the length of its paragraphs. [`keys`] demands that it names
//! the keys of all files.
//!
//! Anchors follow the rules of mdBook 0.5. `scripts/build-book.sh` checks the links of the built pages.

mod keys;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{files, root};

/// Most characters of a paragraph.
const MOST_CHARACTERS: usize = 800;

/// Text of a document of the repository.
fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Pages of the book, but for its table of contents.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    files(&root().join("docs"), ".md", &mut pages);
    pages.retain(|page| !page.ends_with("SUMMARY.md"));
    pages
}

/// A page with the documents that it includes.
fn expanded(page: &Path) -> String {
    let folder = page.parent().expect("it lies in a folder");
    let line = |line: &str| match line
        .strip_prefix("{{#include ")
        .and_then(|rest| rest.strip_suffix("}}"))
    {
        Some(included) => read(&folder.join(included)),
        None => line.to_string(),
    };
    let lines: Vec<String> = read(page).lines().map(line).collect();
    lines.join("\n")
}

/// Lines of a document outside of blocks of code.
fn prose(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            // A paragraph ends here.
            lines.push("");
        } else if !in_code {
            lines.push(line);
        }
    }
    lines
}

/// A line without the contents of code in backquotes.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// Targets of a document's links.
fn links(text: &str) -> Vec<String> {
    let lines = prose(text).into_iter().map(without_code);
    lines
        .flat_map(|line| {
            let targets = line.split("](").skip(1).map(str::to_string);
            targets.collect::<Vec<_>>()
        })
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_string()))
        .collect()
}

/// The text of a heading: its code and the texts of its links, without marks of emphasis.
fn heading_text(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading;
    while let Some((before, link)) = rest.split_once('[') {
        let Some((label, behind)) = link.split_once("](") else {
            break;
        };
        text += before;
        text += label;
        rest = behind.split_once(')').map_or("", |(_, behind)| behind);
    }
    text += rest;
    text.replace(['`', '*'], "")
}

/// The anchors of a document's headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in prose(text) {
        let level = line.bytes().take_while(|b| *b == b'#').count();
        let Some(heading) = line[level..].strip_prefix(' ').filter(|_| level > 0) else {
            continue;
        };
        let text = heading_text(heading).trim().to_lowercase();
        let id: String = text
            .chars()
            .filter_map(|c| match c {
                c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c),
                c if c.is_whitespace() => Some('-'),
                _ => None,
            })
            .collect();
        let mut candidates = std::iter::once(id.clone()).chain((1..).map(|n| format!("{id}-{n}")));
        let free = candidates.find(|candidate| !anchors.contains(candidate));
        anchors.extend(free);
    }
    anchors
}

#[test]
fn anchors_are_those_of_mdbook() {
    let text = "# `--passes`: a [page](x.md)\n## Twice\n```\n# no heading\n```\n## Twice\n### §1 *Café*\n#none";
    let expected = ["--passes-a-page", "1-café", "twice", "twice-1"];
    assert_eq!(
        anchors(text),
        expected.map(String::from).into_iter().collect()
    );
}

#[test]
fn the_table_of_contents_names_each_page_once() {
    let docs = root().join("docs");
    let mut listed = links(&read(&docs.join("SUMMARY.md")));
    let mut pages: Vec<String> = pages()
        .iter()
        .map(|page| page.strip_prefix(&docs).expect("a page of docs"))
        .map(|page| page.display().to_string())
        .collect();
    listed.sort();
    pages.sort();
    assert!(pages.len() > 80, "{}", pages.len());
    assert_eq!(listed, pages);
}

#[test]
fn anchors_lead_to_headings() {
    let mut documents = Vec::new();
    files(root(), ".md", &mut documents);
    let mut missing = Vec::new();
    let mut checked = 0;
    for document in documents {
        let folder = document.parent().expect("it lies in a folder");
        for link in links(&read(&document)) {
            let Some((path, anchor)) = link.split_once('#').filter(|_| !link.contains("://"))
            else {
                continue;
            };
            let target = match path {
                "" => document.clone(),
                path if path.ends_with(".md") => folder.join(path),
                _ => continue,
            };
            checked += 1;
            if !target.exists() || !anchors(&expanded(&target)).contains(anchor) {
                missing.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(checked > 40, "only {checked} anchors were found");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Paragraphs of a document: lines up to an empty one, each item of a list by itself, no tables and no headings.
fn paragraphs(text: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in prose(text) {
        let line = line.trim();
        let is_number = |word: &str| {
            let digits = word.strip_suffix('.').unwrap_or_default();
            !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
        };
        let first = line.split(' ').next().unwrap_or_default();
        let begins = line.is_empty() || ["-", "*", "|"].contains(&first) || is_number(first);
        if begins || line.starts_with('#') {
            paragraphs.push(String::new());
        }
        if !line.starts_with(['#', '|']) {
            let paragraph = paragraphs.last_mut().expect("one was pushed");
            *paragraph += line;
            paragraph.push(' ');
        }
    }
    paragraphs
}

#[test]
fn paragraphs_are_short() {
    let mut long = Vec::new();
    for page in pages() {
        for paragraph in paragraphs(&read(&page)) {
            let length = paragraph.trim().chars().count();
            if length > MOST_CHARACTERS {
                let begin: String = paragraph.chars().take(60).collect();
                long.push(format!("{}: {length}: {begin}…", page.display()));
            }
        }
    }
    assert!(long.is_empty(), "split these paragraphs: {long:#?}");
}

/// Abbreviations that no reader knows beforehand, and what they stand for.
const EXPANDED: [(&str, &str); 3] = [
    ("HPS", "hybrid profiling support"),
    ("DISE", "dynamic instruction stream editing"),
    ("DCPI", "digital continuous profiling infrastructure"),
];

#[test]
fn the_first_pages_say_what_abbreviations_stand_for() {
    for document in ["README.md", "docs/README.md"] {
        // The lab's own name, and code, need not be expanded.
        let text: Vec<String> = prose(&read(&root().join(document)))
            .into_iter()
            .filter(|line| !line.starts_with('#'))
            .map(without_code)
            .collect();
        let text = text.join("\n").replace("HPS Lab", "");
        for (abbreviation, meaning) in EXPANDED {
            let at = text.find(abbreviation);
            let at = at.unwrap_or_else(|| panic!("{document} does not name {abbreviation}"));
            let near = &text[at..].lines().next().unwrap_or_default().to_lowercase();
            let (before, behind) = near.split_once(meaning).unwrap_or((near, ""));
            let is_near = before.trim_end_matches(['*', '(', ' ']).len() == abbreviation.len();
            assert!(
                is_near && behind.starts_with(')'),
                "{document}: {abbreviation} is not expanded where it first stands: {near}"
            );
        }
    }
}
