//! A finished picture, as SVG and as PNG of the same drawing.

use std::fmt::{self, Write as _};

use tiny_skia::Pixmap;

use crate::PlotError;
use crate::bitmap::{Mark, paint};
use crate::canvas::{Canvas, Drawn, Tip, printable};
use crate::html::escape;
use crate::style::UNITS_PER_PIXEL;

/// A finished picture.
#[derive(Clone)]
pub struct Figure {
    title: String,
    svg: String,
    /// Marks of the SVG, for the bitmap.
    marks: Vec<Mark>,
    /// Width and height in units.
    size: (u32, u32),
}

impl Figure {
    /// Draws on a white sheet of `width` × `height` units (two to a CSS pixel).
    pub(crate) fn draw(
        title: &str,
        width: f64,
        height: f64,
        draw: impl FnOnce(&mut Canvas<'_>),
    ) -> Result<Self, PlotError> {
        let even = |v: f64| (v.max(2.0) / 2.0).ceil() as u32 * 2;
        let (width, height) = (even(width), even(height));
        let mut drawn = String::new();
        let mut canvas = Canvas::new(&mut drawn, width, height);
        draw(&mut canvas);
        let Drawn { marks, tips } = canvas.finish().map_err(|reason| PlotError::Render {
            figure: title.to_string(),
            reason,
        })?;
        // plotters gives the sheet's size in units; viewers are told CSS pixels and what they show.
        let body = drawn.find(" viewBox").map_or("", |at| &drawn[at..]);
        let body = body.strip_suffix("</svg>\n").unwrap_or(body);
        let svg = format!(
            "<svg width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"{}\"{body}{}</svg>\n",
            width / UNITS_PER_PIXEL,
            height / UNITS_PER_PIXEL,
            escape(&printable(title)),
            shown_to_pointers(&tips),
        );
        Ok(Self {
            title: title.to_string(),
            svg,
            marks,
            size: (width, height),
        })
    }

    /// Title of the picture.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The picture as a stand-alone SVG document; its text names the generic family `sans-serif`.
    #[must_use]
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// The picture as a PNG file, two pixels to a CSS pixel, its text in the embedded DejaVu Sans.
    ///
    /// # Errors
    /// [`PlotError::Render`] if the renderer refuses the drawing.
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        let fault = |reason: String| PlotError::Render {
            figure: self.title.clone(),
            reason,
        };
        let (width, height) = self.size;
        let pixels = paint(&self.marks, width, height)
            .ok_or_else(|| fault("too large for a bitmap".to_string()))?;
        encode(&pixels).map_err(|e| fault(e.to_string()))
    }
}

/// Tooltips of a picture as SVG titles: viewers show titles, and so does the page's script, sooner.
fn shown_to_pointers(tips: &[Tip]) -> String {
    if tips.is_empty() {
        return String::new();
    }
    let mut text = "<g fill=\"none\" stroke=\"none\" pointer-events=\"all\">\n".to_string();
    for Tip {
        from,
        to,
        text: says,
    } in tips
    {
        let (width, height) = (to.0 - from.0, to.1 - from.1);
        let _ = writeln!(
            text,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
            from.0,
            from.1,
            width.max(0),
            height.max(0),
            escape(says)
        );
    }
    text + "</g>\n"
}

impl fmt::Debug for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Figure")
            .field("title", &self.title)
            .finish_non_exhaustive()
    }
}

/// An opaque bitmap as PNG. Fast compression: with the usual one most of a report's time goes here.
fn encode(pixels: &Pixmap) -> Result<Vec<u8>, png::EncodingError> {
    let rgba = pixels.data().chunks_exact(4);
    let mut rgb = vec![0; 3 * rgba.len()];
    for (to, from) in rgb.chunks_exact_mut(3).zip(rgba) {
        to.copy_from_slice(&from[..3]);
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, pixels.width(), pixels.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    encoder.write_header()?.write_image_data(&rgb)?;
    Ok(file)
}
