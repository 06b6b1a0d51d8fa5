use std::collections::HashMap;
use std::fs;
use std::path::Path;

use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};

/// Names of addresses, read on first use.
#[derive(Default)]
pub(super) struct Symbols {
    kernel: Option<Table>,
    processes: HashMap<u32, Vec<Mapping>>,
    files: HashMap<String, Image>,
}

/// A function: its start, its length, its name. Length 0 extends to the next function.
type Function = (u64, u64, String);
/// By start address.
type Table = Vec<Function>;

/// A part of a file in a process' memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    from: u64,
    to: u64,
    offset: u64,
    file: String,
}

/// Segments and symbols of a program or library.
#[derive(Default)]
struct Image {
    /// Offset in the file, length, address that the symbols refer to.
    segments: Vec<(u64, u64, u64)>,
    functions: Table,
}

impl Symbols {
    /// The kernel's function at `address`.
    pub(super) fn kernel(&mut self, address: u64) -> String {
        let table = self.kernel.get_or_insert_with(|| {
            let mut table = kallsyms(&fs::read_to_string("/proc/kallsyms").unwrap_or_default());
            table.sort();
            table
        });
        function_at(table, address).map_or_else(|| "[kernel]".into(), |name| format!("{name}_[k]"))
    }

    /// The name of the file whose code is at `address` of the process.
    pub(super) fn file(&mut self, pid: u32, address: u64) -> String {
        self.mapping(pid, address).map_or_else(|| "(unknown)".into(), |mapping| short(&mapping.file))
    }

    /// The function at `address` of the process, or its file if it has no symbols.
    pub(super) fn user(&mut self, pid: u32, address: u64) -> String {
        let Some(mapping) = self.mapping(pid, address) else { return "[unknown]".into() };
        let image = self.files.entry(mapping.file.clone()).or_insert_with(|| {
            // The path from the process's view, which may be in a container.
            let path = format!("/proc/{pid}/root{}", mapping.file);
            image(Path::new(&path)).unwrap_or_default()
        });
        let offset = address - mapping.from + mapping.offset;
        let segment = image.segments.iter().find(|(at, length, _)| offset >= *at && offset - at < *length);
        let name = segment.and_then(|(at, _, address)| function_at(&image.functions, offset - at + address));
        name.map_or_else(
            || format!("[{}]", short(&mapping.file)),
            |name| format!("{:#}", rustc_demangle::demangle(name)).replace(';', ":"),
        )
    }

    /// Remark for the reader.
    pub(super) fn notes(&self) -> Option<String> {
        let nameless = self.kernel.as_ref().is_some_and(Vec::is_empty);
        nameless.then(|| {
            "The kernel's functions have no names: they take root, or sysctl kernel.kptr_restrict=0.".into()
        })
    }

    fn mapping(&mut self, pid: u32, address: u64) -> Option<Mapping> {
        let mappings = self.processes.entry(pid).or_insert_with(|| {
            // A mapped file may have any name.
            mappings(&host::read_lossy(Path::new(&format!("/proc/{pid}/maps"))).unwrap_or_default())
        });
        mappings.iter().find(|mapping| (mapping.from..mapping.to).contains(&address)).cloned()
    }
}

/// The function that contains `address`: the last one that begins before it and extends beyond it. Code without a
/// symbol belongs to no function.
fn function_at(table: &Table, address: u64) -> Option<&str> {
    // Search depth for functions nested in another: parts of a function that have a name of their own.
    const WITHIN: usize = 4;
    let after = table.partition_point(|(from, ..)| *from <= address);
    let reaches = |(back, (from, length, _)): &(usize, &Function)| match length {
        0 => *back == 0,
        length => address - from < *length,
    };
    let mut last = table[..after].iter().rev().take(WITHIN).enumerate();
    last.find(reaches).map(|(_, (.., name))| name.as_str())
}

fn short(file: &str) -> String {
    file.rsplit('/').next().unwrap_or(file).to_owned()
}

/// The functions in `/proc/kallsyms`; empty if the addresses are hidden.
fn kallsyms(text: &str) -> Table {
    let function = |line: &str| {
        let mut words = line.split_whitespace();
        let address = u64::from_str_radix(words.next()?, 16).ok().filter(|address| *address > 0)?;
        let is_code = words.next()?.eq_ignore_ascii_case("t");
        is_code.then(|| Some((address, 0, words.next()?.to_owned())))?
    };
    text.lines().filter_map(function).collect()
}

/// The mappings with code in `/proc/PID/maps`. Source: `proc_pid_maps(5)`.
fn mappings(text: &str) -> Vec<Mapping> {
    let mapping = |line: &str| {
        let mut words = line.split_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        let is_code = words.next()?.contains('x');
        let offset = hex(words.next()?)?;
        // Device and inode; then a path, which may hold spaces.
        let file = words.skip(2).collect::<Vec<_>>().join(" ");
        let file = if file.is_empty() { "(anonymous)".into() } else { file };
        is_code.then(|| Some(Mapping { from: hex(from)?, to: hex(to)?, offset, file }))?
    };
    text.lines().filter_map(mapping).collect()
}

/// Segments and functions of an ELF file; `None` for another file.
fn image(path: &Path) -> Option<Image> {
    let bytes = fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let is_function = |symbol: &object::Symbol| symbol.kind() == SymbolKind::Text && symbol.address() > 0;
    let named =
        symbols.filter(is_function).filter_map(|s| Some((s.address(), s.size(), s.name().ok()?.to_owned())));
    let mut functions: Table = named.collect();
    functions.sort();
    let segment = |segment: object::Segment| {
        let (offset, length) = segment.file_range();
        (offset, length, segment.address())
    };
    Some(Image { segments: file.segments().map(segment).collect(), functions })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_lists() {
        let text = "ffffffff81000000 T _stext\nffffffff81000010 t tcp_ack\nffffffff81000020 d data\n0000000000000000 T hidden\n";
        let table = kallsyms(text);
        let check = |address: u64, expect: Option<&str>| {
            assert_eq!(function_at(&table, address), expect, "{address:x}")
        };
        check(0xffff_ffff_8100_0000, Some("_stext"));
        check(0xffff_ffff_8100_0018, Some("tcp_ack"));
        check(0x1000, None);
        let maps = "55d0-55f0 r-xp 00001000 fe:00 12 /usr/bin/a b\n55f0-5600 rw-p 0 fe:00 12 /usr/bin/a b\n7f00-7f10 r-xp 00000000 00:00 0\n";
        let expect = [
            Mapping { from: 0x55d0, to: 0x55f0, offset: 0x1000, file: "/usr/bin/a b".into() },
            Mapping { from: 0x7f00, to: 0x7f10, offset: 0, file: "(anonymous)".into() },
        ];
        assert_eq!(mappings(maps), expect);
        assert_eq!(kallsyms("x\n\n1\n"), []);
    }

    #[test]
    fn code_without_a_symbol_has_no_name() {
        let function = |from: u64, length: u64, name: &str| (from, length, name.to_owned());
        let table = vec![
            function(0x100, 0x10, "exported"),
            function(0x200, 0, "start"),
            function(0x300, 0x100, "outer"),
            function(0x310, 0x10, "part"),
        ];
        let check = |address: u64, expect: Option<&str>| {
            assert_eq!(function_at(&table, address), expect, "{address:x}")
        };
        check(0xff, None);
        check(0x10f, Some("exported"));
        // Code of the program itself, stripped.
        check(0x110, None);
        check(0x1ff, None);
        check(0x2ff, Some("start"));
        check(0x318, Some("part"));
        check(0x320, Some("outer"));
        check(0x400, None);
    }

    #[inline(never)]
    fn a_function_to_be_named() -> u64 {
        std::hint::black_box(7)
    }

    #[test]
    fn names_its_own_functions() {
        assert_eq!(a_function_to_be_named(), 7);
        let mut symbols = Symbols::default();
        let address = a_function_to_be_named as fn() -> u64 as usize as u64;
        let name = symbols.user(std::process::id(), address);
        assert!(name.contains("a_function_to_be_named"), "{name}");
        assert!(symbols.file(std::process::id(), address).starts_with("probes-"));
        assert_eq!(symbols.user(u32::MAX, 1), "[unknown]");
    }
}
