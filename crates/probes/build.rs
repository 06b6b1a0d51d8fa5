//! Compiles the programs that run in the kernel, with the feature `bpf`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "bpf")]
    programs();
}

#[cfg(feature = "bpf")]
fn programs() {
    use std::env;
    use std::path::PathBuf;

    const SOURCES: &str = "src/bpf";
    println!("cargo:rerun-if-changed={SOURCES}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for name in ["scheduling", "stages"] {
        let built = libbpf_cargo::SkeletonBuilder::new()
            .source(format!("{SOURCES}/{name}.bpf.c"))
            .obj(out.join(format!("{name}.bpf.o")))
            .clang_args(["-I", SOURCES, "-Wall", "-Werror", "-Wno-unused-function"])
            .build();
        if let Err(error) = built {
            panic!(
                "cannot compile the programs of the feature `bpf`: {error:#}\nIt takes clang (`apt-get install clang \
                 libelf-dev zlib1g-dev pkg-config make`); without the feature nothing of that is needed."
            );
        }
    }
}
