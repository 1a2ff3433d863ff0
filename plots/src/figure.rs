//! A finished picture, as SVG and as PNG of the same drawing.

use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};

use crate::PlotError;
use crate::canvas::{Canvas, printable};
use crate::html::escape;
use crate::style::UNITS_PER_PIXEL;

/// A finished picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    title: String,
    svg: String,
}

impl Figure {
    /// Draws on a white sheet of `width` × `height` units (two to a CSS pixel).
    pub(crate) fn draw(
        title: &str,
        width: f64,
        height: f64,
        paint: impl FnOnce(&mut Canvas<'_>),
    ) -> Result<Self, PlotError> {
        let even = |v: f64| (v.max(2.0) / 2.0).ceil() as u32 * 2;
        let (width, height) = (even(width), even(height));
        let mut drawn = String::new();
        let mut canvas = Canvas::new(&mut drawn, width, height);
        paint(&mut canvas);
        canvas.finish().map_err(|reason| PlotError::Render {
            figure: title.to_string(),
            reason,
        })?;
        // plotters gives the sheet's size in units; viewers are told CSS pixels and what they show.
        let body = drawn.find(" viewBox").map_or("", |at| &drawn[at..]);
        let svg = format!(
            "<svg width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"{}\"{body}",
            width / UNITS_PER_PIXEL,
            height / UNITS_PER_PIXEL,
            escape(&printable(title)),
        );
        Ok(Self {
            title: title.to_string(),
            svg,
        })
    }

    /// What the picture shows.
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
        let options = Options {
            fontdb: fonts(),
            ..Options::default()
        };
        let tree = Tree::from_str(&self.svg, &options).map_err(|e| fault(e.to_string()))?;
        let scale = UNITS_PER_PIXEL as f32;
        let size = tree.size().to_int_size().scale_by(scale);
        let mut pixels = size
            .and_then(|s| Pixmap::new(s.width(), s.height()))
            .ok_or_else(|| fault("too large for a bitmap".to_string()))?;
        resvg::render(
            &tree,
            Transform::from_scale(scale, scale),
            &mut pixels.as_mut(),
        );
        encode(&pixels).map_err(|e| fault(e.to_string()))
    }
}

/// An opaque bitmap as PNG. Fast compression: with the usual one most of a report's time goes here.
fn encode(pixels: &Pixmap) -> Result<Vec<u8>, png::EncodingError> {
    let rgb: Vec<u8> = pixels
        .data()
        .chunks_exact(4)
        .flat_map(|p| [p[0], p[1], p[2]])
        .collect();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, pixels.width(), pixels.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    encoder.write_header()?.write_image_data(&rgb)?;
    Ok(file)
}

/// The embedded fonts alone: pictures do not depend on what is installed.
fn fonts() -> Arc<Database> {
    static FONTS: OnceLock<Arc<Database>> = OnceLock::new();
    Arc::clone(FONTS.get_or_init(|| {
        let mut fonts = Database::new();
        fonts.load_font_data(dejavu::sans::regular().to_vec());
        fonts.load_font_data(dejavu::sans::bold().to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Arc::new(fonts)
    }))
}
