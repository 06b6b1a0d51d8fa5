# Written by `cargo xtask dist --url`: the programs of a release, by Homebrew on Linux.
class Taillight < Formula
  desc "Laboratory for the tail latency of interactive cloud services"
  homepage "@URL@"
  version "@VERSION@"
  license "Apache-2.0"
  depends_on :linux

@ARCHIVES@
  def install
    bin.install "bin/taillight", "bin/sphinxd"
    man1.install Dir["share/man/man1/*.1"]
    bash_completion.install Dir["share/bash-completion/completions/*"]
    zsh_completion.install Dir["share/zsh/site-functions/*"]
    fish_completion.install Dir["share/fish/vendor_completions.d/*"]
  end

  service do
    run [opt_bin/"sphinxd"]
    keep_alive crashed: true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/taillight --version")
  end
end
