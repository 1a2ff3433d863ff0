//! Writes a small profile in every format into a folder, for readers of other projects:
//! `cargo run -p hps-profile --example formats -- FOLDER`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use hps_profile::formats::{Format, write};

mod sample;

fn main() -> io::Result<()> {
    let folder = std::env::args().nth(1);
    let folder = PathBuf::from(folder.ok_or_else(|| io::Error::other("name a folder"))?);
    std::fs::create_dir_all(&folder)?;
    let profile = sample::sample();
    for format in Format::ALL {
        let path = folder.join(format!("sample{}", format.extension()));
        let mut output = BufWriter::new(File::create(path)?);
        write(&profile, format, &mut output)?;
        output.flush()?;
    }
    Ok(())
}
