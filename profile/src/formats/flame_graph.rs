//! A flame graph as one SVG file that a browser opens alone.
//!
//! The main column by stack of functions, callers below. The whole width is the total; a box shows
//! name, value and share when the pointer rests on it, and a click on it makes it the whole width.
//! Without scripts the picture is whole as well. Boxes narrower than 1/5000 of the total are left
//! out, which the picture says.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use super::stack::{names, one_line, origin};
use crate::symbolized::SymbolizedProfile;

/// A box that is narrower than the total by this factor is left out.
const NARROWEST: u128 = 5000;
/// Height of a box, in pixels.
const ROW: usize = 18;
/// Height of title and legend, in pixels.
const HEAD: usize = 62;

/// Writes the profile.
pub(super) fn write(profile: &SymbolizedProfile, output: &mut dyn Write) -> io::Result<()> {
    let tree = Tree::new(profile);
    let boxes = tree.boxes();
    let depth = boxes.iter().map(|shown| shown.depth + 1).max().unwrap_or(0);
    let height = HEAD + ROW * depth + 8;
    let title = match profile.header().program.as_str() {
        "" => "profile",
        program => program,
    };
    let column = profile.main_column();
    writeln!(
        output,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100%\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>{}</title>\n<desc>{}</desc>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"8\" y=\"22\" font-size=\"16\" font-weight=\"bold\">{}</text>",
        escape(title),
        escape(&origin(profile).join(", ")),
        escape(title),
    )?;
    let left_out = match tree.nodes.len() - boxes.len() {
        0 => String::new(),
        1 => "; 1 box of less than 0.02% is left out".to_owned(),
        count => format!("; {count} boxes of less than 0.02% are left out"),
    };
    let total = tree.nodes[0].value;
    writeln!(
        output,
        "<text x=\"8\" y=\"42\" fill=\"#555555\">{}: {total} {}{left_out}</text>",
        escape(&column.name),
        escape(&column.unit),
    )?;
    writeln!(output, "<g id=\"boxes\">")?;
    for shown in &boxes {
        write_box(output, shown, total, depth)?;
    }
    writeln!(output, "</g>\n{SCRIPT}\n</svg>")
}

/// A stack of functions.
struct Node {
    name: String,
    depth: usize,
    value: u128,
    children: Vec<usize>,
}

struct Tree {
    /// The whole program first; parents before their children.
    nodes: Vec<Node>,
}

/// A box of the picture; `start` is where it begins, in units of the value.
struct Shown<'a> {
    name: &'a str,
    depth: usize,
    start: u128,
    value: u128,
}

impl Tree {
    fn new(profile: &SymbolizedProfile) -> Self {
        let mut nodes = vec![Node {
            name: "all".to_owned(),
            depth: 0,
            value: 0,
            children: Vec::new(),
        }];
        let mut places: FxHashMap<(usize, String), usize> = FxHashMap::default();
        let rounded = profile.rounded();
        for (sample, &value) in profile.samples().iter().zip(rounded.column(0)) {
            if value == 0 {
                continue;
            }
            let mut place = 0;
            nodes[0].value += u128::from(value);
            for name in names(profile, sample) {
                let depth = nodes[place].depth + 1;
                let child = *places.entry((place, name)).or_insert_with_key(|(_, name)| {
                    nodes.push(Node {
                        name: name.clone(),
                        depth,
                        value: 0,
                        children: Vec::new(),
                    });
                    let child = nodes.len() - 1;
                    nodes[place].children.push(child);
                    child
                });
                nodes[child].value += u128::from(value);
                place = child;
            }
        }
        Self { nodes }
    }

    /// The boxes that are wide enough, callers first, callees by name.
    fn boxes(&self) -> Vec<Shown<'_>> {
        let total = self.nodes[0].value;
        let mut boxes = Vec::new();
        let mut open = vec![(0, 0)];
        // A list instead of recursion: stacks may be deep.
        while let Some((place, start)) = open.pop() {
            let node = &self.nodes[place];
            if place > 0 && node.value * NARROWEST < total {
                continue;
            }
            boxes.push(Shown {
                name: &node.name,
                depth: node.depth,
                start,
                value: node.value,
            });
            let mut children = node.children.clone();
            children.sort_by(|&a, &b| self.nodes[a].name.cmp(&self.nodes[b].name));
            let mut next = start;
            for child in children {
                open.push((child, next));
                next += self.nodes[child].value;
            }
        }
        boxes
    }
}

fn write_box(
    output: &mut dyn Write,
    shown: &Shown<'_>,
    total: u128,
    depth: usize,
) -> io::Result<()> {
    let whole = total.max(1) as f64;
    let (x, width) = (
        100.0 * shown.start as f64 / whole,
        if total == 0 {
            100.0
        } else {
            100.0 * shown.value as f64 / whole
        },
    );
    let y = HEAD + ROW * (depth - 1 - shown.depth);
    let name = escape(shown.name);
    let inner = ROW - 1;
    writeln!(
        output,
        "<svg x=\"{x:.4}%\" y=\"{y}\" width=\"{width:.4}%\" height=\"{inner}\" \
         data-x=\"{x:.4}\" data-w=\"{width:.4}\">\
         <title>{name}: {} ({width:.2}%)</title>\
         <rect width=\"100%\" height=\"100%\" fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"0.5\"/>\
         <text x=\"3\" y=\"13\">{name}</text></svg>",
        shown.value,
        colour(shown.name),
    )
}

/// A warm colour that depends on the name alone, so that two graphs can be compared.
fn colour(name: &str) -> String {
    // FNV-1a.
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let [a, b, c, _] = hash.to_le_bytes();
    format!(
        "#{:02x}{:02x}{:02x}",
        225 + a % 31,
        130 + b % 90,
        70 + c % 50
    )
}

/// Text for XML: no control characters, which XML cannot hold even escaped.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in one_line(text).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// A click on a box makes it the whole width; a click on the lowest one shows all again.
const SCRIPT: &str = r#"<script type="text/javascript"><![CDATA[
(function () {
  var boxes = Array.prototype.slice.call(document.getElementById("boxes").children);
  function place(box, key) { return parseFloat(box.getAttribute("data-" + key)); }
  function show(chosen) {
    var left = place(chosen, "x"), width = place(chosen, "w");
    boxes.forEach(function (box) {
      var x = (place(box, "x") - left) * 100 / width, w = place(box, "w") * 100 / width;
      var end = Math.min(x + w, 100), begin = Math.max(x, 0);
      box.setAttribute("x", begin + "%");
      box.setAttribute("width", Math.max(end - begin, 0) + "%");
      box.style.display = end - begin > 0.01 ? "" : "none";
    });
  }
  boxes.forEach(function (box) {
    box.style.cursor = "pointer";
    box.addEventListener("click", function () { show(box); });
  });
})();
]]></script>"#;
