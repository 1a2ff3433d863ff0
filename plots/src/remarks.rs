//! Remarks of a page around its pictures.

use std::fmt::Write as _;

use crate::html::escape;

/// Meaning of accuracies, for those who see the first picture.
pub(crate) const OVERLAP: &str = "Accuracy is overlap: how alike the sampled profile and the exhaustive one are. Of each \
    profile the members are kept that make up 90% of it; each counts with the smaller of its two shares, and the sum is the \
    overlap: 100% for equal profiles, 0% for profiles without a member in common.";

/// Remarks of a run, folded; a section `notes`, or nothing.
pub(crate) fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let mut html = format!(
        "<section id=\"notes\">\n<h2>Notes</h2>\n<details><summary>What the run says of these results \
         ({})</summary>\n",
        notes.len()
    );
    for note in notes {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", escape(note.trim_start()));
    }
    html + "</details>\n</section>\n"
}
