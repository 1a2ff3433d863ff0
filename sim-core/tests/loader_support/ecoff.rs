//! A writer of small ECOFF files as OSF/1's linker lays them out.

/// A section: name, address, content, size if it is zero, flags.
#[derive(Clone)]
pub struct Section {
    pub name: &'static str,
    pub addr: u64,
    pub bytes: Vec<u8>,
    pub zeros: u64,
    pub flags: u32,
}

pub const TEXT: u32 = 0x20;
pub const DATA: u32 = 0x40;
pub const BSS: u32 = 0x80;

/// Content of the file.
#[derive(Clone)]
pub struct Ecoff {
    pub magic: u16,
    pub aout_magic: u16,
    pub flags: u16,
    pub entry: u64,
    pub gp: u64,
    pub text: Section,
    pub data: Section,
    pub bss: Section,
    /// External symbols: name, address, kind, storage class.
    pub externals: Vec<(&'static str, u64, u32, u32)>,
    /// Procedures of one source file: name, address.
    pub procedures: Vec<(&'static str, u64)>,
}

/// Size of all headers.
pub const HEADERS: usize = 24 + 80 + 3 * 64;
pub const TEXT_BASE: u64 = 0x1_2000_0000;
pub const DATA_BASE: u64 = 0x1_4000_0000;
const ST_PROC: u32 = 6;
const SC_TEXT: u32 = 1;

impl Default for Ecoff {
    /// `lda v0,1; callsys`, some data and bss.
    fn default() -> Self {
        let text = TEXT_BASE + HEADERS as u64;
        Ecoff {
            magic: 0o603,
            aout_magic: 0o413,
            flags: 0x1000 | 7,
            entry: text,
            gp: DATA_BASE + 0x8000,
            text: Section {
                name: ".text",
                addr: text,
                bytes: vec![0x01, 0, 0x1f, 0x20, 0x83, 0, 0, 0],
                zeros: 0,
                flags: TEXT,
            },
            data: Section {
                name: ".data",
                addr: DATA_BASE,
                bytes: b"some data".to_vec(),
                zeros: 0,
                flags: DATA,
            },
            bss: Section {
                name: ".bss",
                addr: DATA_BASE + 0x2000,
                bytes: Vec::new(),
                zeros: 0x1230,
                flags: BSS,
            },
            externals: vec![
                ("__start", text, ST_PROC, SC_TEXT),
                ("value", DATA_BASE, 1, 2),
                ("missing", 0, 1, 6),
            ],
            procedures: vec![("local", text + 4)],
        }
    }
}

/// Size of text or data in the file: whole pages.
const PART: usize = 0x2000;

impl Ecoff {
    /// Where the text begins in the file.
    fn text_offset(&self) -> usize {
        if self.aout_magic == 0o413 {
            0
        } else {
            HEADERS.next_multiple_of(16)
        }
    }

    /// The first address of the text.
    fn text_start(&self) -> u64 {
        if self.aout_magic == 0o413 {
            TEXT_BASE
        } else {
            self.text.addr
        }
    }

    /// The file.
    pub fn build(&self) -> Vec<u8> {
        let text_offset = self.text_offset();
        let data_offset = text_offset + PART;
        let text_at = text_offset + (self.text.addr.wrapping_sub(self.text_start())) as usize;
        let mut body = vec![0; data_offset + PART];
        body[text_at..text_at + self.text.bytes.len()].copy_from_slice(&self.text.bytes);
        body[data_offset..data_offset + self.data.bytes.len()].copy_from_slice(&self.data.bytes);
        let symbols_at = body.len();
        body.extend(self.symbols(symbols_at as u64));

        let mut file = Vec::new();
        file.extend(self.magic.to_le_bytes());
        file.extend(3u16.to_le_bytes());
        file.extend(0u32.to_le_bytes());
        file.extend((symbols_at as u64).to_le_bytes());
        file.extend(144u32.to_le_bytes());
        file.extend(80u16.to_le_bytes());
        file.extend(self.flags.to_le_bytes());
        for half in [self.aout_magic, 0x30d, 0, 0] {
            file.extend(half.to_le_bytes());
        }
        for word in [
            PART as u64,
            PART as u64,
            self.bss.zeros,
            self.entry,
            self.text_start(),
            self.data.addr,
            self.bss.addr,
            0,
            self.gp,
        ] {
            file.extend(word.to_le_bytes());
        }
        for (section, at) in [
            (&self.text, text_at),
            (&self.data, data_offset),
            (&self.bss, 0),
        ] {
            let mut name = [0; 8];
            name[..section.name.len()].copy_from_slice(section.name.as_bytes());
            file.extend(name);
            let size = section.bytes.len() as u64 + section.zeros;
            for word in [section.addr, section.addr, size, at as u64, 0, 0] {
                file.extend(word.to_le_bytes());
            }
            file.extend(0u32.to_le_bytes());
            file.extend(section.flags.to_le_bytes());
        }
        assert_eq!(file.len(), HEADERS);
        body[..HEADERS].copy_from_slice(&file);
        body
    }

    /// The symbolic header and its tables, which lie at `base` in the file.
    fn symbols(&self, base: u64) -> Vec<u8> {
        let symbol = |value: u64, name: usize, kind: u32, class: u32| {
            let mut s = value.to_le_bytes().to_vec();
            s.extend((name as u32).to_le_bytes());
            s.extend((kind | class << 6).to_le_bytes());
            s
        };
        // The file's own strings begin behind those of another.
        let mut strings = b"other.c\0".to_vec();
        let own = strings.len();
        let mut locals = Vec::new();
        for &(name, addr) in &self.procedures {
            locals.extend(symbol(addr, strings.len() - own, ST_PROC, SC_TEXT));
            strings.extend(name.as_bytes());
            strings.push(0);
        }
        let mut external_strings = Vec::new();
        let mut externals = Vec::new();
        for &(name, addr, kind, class) in &self.externals {
            externals.extend(symbol(addr, external_strings.len(), kind, class));
            externals.extend([0; 8]);
            external_strings.extend(name.as_bytes());
            external_strings.push(0);
        }
        let mut files = vec![0; 96];
        files[36..40].copy_from_slice(&(own as u32).to_le_bytes());
        files[44..48].copy_from_slice(&(self.procedures.len() as u32).to_le_bytes());

        let tables = [&locals, &strings, &external_strings, &files, &externals];
        let mut offsets = Vec::new();
        let mut at = base + 144;
        for table in tables {
            offsets.push(at);
            at += table.len() as u64;
        }
        let counts = [
            0,
            0,
            0,
            self.procedures.len(),
            0,
            0,
            strings.len(),
            external_strings.len(),
            1,
            0,
            self.externals.len(),
        ];
        let mut header = 0x1992u16.to_le_bytes().to_vec();
        header.extend(0x30du16.to_le_bytes());
        for count in counts {
            header.extend((count as u32).to_le_bytes());
        }
        for word in [
            0, 0, 0, 0, offsets[0], 0, 0, offsets[1], offsets[2], offsets[3], 0, offsets[4],
        ] {
            header.extend(word.to_le_bytes());
        }
        assert_eq!(header.len(), 144);
        for table in tables {
            header.extend(table);
        }
        header
    }
}
