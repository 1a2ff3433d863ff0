//! Writers of small ELF and ECOFF files, so that tests need no compiler.
#![allow(dead_code, missing_docs)]

pub mod ecoff;

/// A PT_LOAD segment: `bytes` at `addr`, zeros up to `mem_bytes`.
#[derive(Clone)]
pub struct Load {
    pub addr: u64,
    pub bytes: Vec<u8>,
    pub mem_bytes: u64,
    pub flags: u32,
}

pub const R: u32 = 4;
pub const W: u32 = 2;
pub const X: u32 = 1;

/// Content of the file.
#[derive(Clone)]
pub struct Elf {
    pub kind: u16,
    pub machine: u16,
    pub entry: u64,
    pub loads: Vec<Load>,
    /// Further program headers: type, address.
    pub others: Vec<(u32, u64)>,
    /// Functions and objects: name, address, size, `st_info`.
    pub symbols: Vec<(&'static str, u64, u64, u8)>,
}

pub const GLOBAL_FUNCTION: u8 = 0x12;
pub const LOCAL_FUNCTION: u8 = 0x02;
pub const GLOBAL_OBJECT: u8 = 0x11;

impl Default for Elf {
    /// `li a7, 93; ecall` and some data.
    fn default() -> Self {
        Elf {
            kind: 2,
            machine: 243,
            entry: 0x10200,
            loads: vec![
                Load {
                    addr: 0x10000,
                    bytes: [vec![0; 0x200], vec![0x93, 0x08, 0xd0, 0x05, 0x73, 0, 0, 0]].concat(),
                    mem_bytes: 0x208,
                    flags: R | X,
                },
                Load {
                    addr: 0x12800,
                    bytes: b"data".to_vec(),
                    mem_bytes: 0x1000,
                    flags: R | W,
                },
            ],
            others: vec![(6, 0x10040), (0x6474_e551, 0)],
            symbols: vec![
                ("_start", 0x10200, 8, GLOBAL_FUNCTION),
                ("_ZN3foo3barEi", 0x10204, 4, LOCAL_FUNCTION),
                ("value", 0x12800, 4, GLOBAL_OBJECT),
            ],
        }
    }
}

fn header(kind: u32, flags: u32, offset: u64, addr: u64, sizes: (u64, u64)) -> Vec<u8> {
    let mut h = Vec::new();
    h.extend(kind.to_le_bytes());
    h.extend(flags.to_le_bytes());
    for value in [offset, addr, addr, sizes.0, sizes.1, 0x1000] {
        h.extend(value.to_le_bytes());
    }
    h
}

fn section(name: u32, kind: u32, offset: u64, size: u64, link: u32, entry: u64) -> Vec<u8> {
    let mut h = Vec::new();
    h.extend(name.to_le_bytes());
    h.extend(kind.to_le_bytes());
    for value in [0u64, 0, offset, size] {
        h.extend(value.to_le_bytes());
    }
    h.extend(link.to_le_bytes());
    h.extend(1u32.to_le_bytes());
    h.extend(8u64.to_le_bytes());
    h.extend(entry.to_le_bytes());
    h
}

impl Elf {
    /// A program for Alpha: `lda v0,1; callsys`.
    pub fn alpha() -> Elf {
        let mut elf = Elf {
            machine: 0x9026,
            ..Elf::default()
        };
        elf.loads[0].bytes.truncate(0x200);
        elf.loads[0]
            .bytes
            .extend([0x01, 0, 0x1f, 0x20, 0x83, 0, 0, 0]);
        elf
    }

    /// The file with the size of the first of `others` changed in its header.
    pub fn build_with_size(&self, size: u64) -> Vec<u8> {
        let mut file = self.build();
        let at = 64 + 56 * self.loads.len() + 32;
        file[at..at + 8].copy_from_slice(&size.to_le_bytes());
        file
    }

    /// The file. Segments lie at file offsets that fit their addresses; the first one begins with
    /// the headers.
    pub fn build(&self) -> Vec<u8> {
        let count = self.loads.len() + self.others.len();
        let mut headers = Vec::new();
        let mut body: Vec<u8> = Vec::new();
        for (index, load) in self.loads.iter().enumerate() {
            let page = if index == 0 {
                0
            } else {
                body.len().next_multiple_of(0x1000)
            };
            let offset = page + (load.addr & 0xfff) as usize;
            body.resize(body.len().max(offset), 0);
            body.truncate(body.len().max(offset));
            body.resize(offset + load.bytes.len(), 0);
            body[offset..].copy_from_slice(&load.bytes);
            let sizes = (load.bytes.len() as u64, load.mem_bytes);
            headers.extend(header(1, load.flags, offset as u64, load.addr, sizes));
        }
        for &(kind, addr) in &self.others {
            let size = count as u64 * 56;
            headers.extend(header(kind, R, 64, addr, (size, size)));
        }
        let symtab_at = body.len().next_multiple_of(8);
        body.resize(symtab_at, 0);
        let (symtab, strtab) = self.symbol_tables();
        let names = b"\0.symtab\0.strtab\0.shstrtab\0";
        let strtab_at = symtab_at + symtab.len();
        let names_at = strtab_at + strtab.len();
        body.extend(&symtab);
        body.extend(&strtab);
        body.extend(names);
        let sections_at = body.len().next_multiple_of(8);
        body.resize(sections_at, 0);
        body.extend([0; 64]);
        body.extend(section(1, 2, symtab_at as u64, symtab.len() as u64, 2, 24));
        body.extend(section(9, 3, strtab_at as u64, strtab.len() as u64, 0, 0));
        body.extend(section(17, 3, names_at as u64, names.len() as u64, 0, 0));

        let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        file.extend(self.kind.to_le_bytes());
        file.extend(self.machine.to_le_bytes());
        file.extend(1u32.to_le_bytes());
        for value in [self.entry, 64, sections_at as u64] {
            file.extend(value.to_le_bytes());
        }
        file.extend(5u32.to_le_bytes());
        for value in [64u16, 56, count as u16, 64, 4, 3] {
            file.extend(value.to_le_bytes());
        }
        file.extend(headers);
        let len = body.len().max(file.len());
        body.resize(len, 0);
        body[..file.len()].copy_from_slice(&file);
        body
    }

    fn symbol_tables(&self) -> (Vec<u8>, Vec<u8>) {
        let mut symtab = vec![0; 24];
        let mut strtab = vec![0];
        for &(name, addr, size, info) in &self.symbols {
            symtab.extend((strtab.len() as u32).to_le_bytes());
            symtab.extend([info, 0]);
            symtab.extend(0xfff1u16.to_le_bytes());
            symtab.extend(addr.to_le_bytes());
            symtab.extend(size.to_le_bytes());
            strtab.extend(name.as_bytes());
            strtab.push(0);
        }
        (symtab, strtab)
    }
}
