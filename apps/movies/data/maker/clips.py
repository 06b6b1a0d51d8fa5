"""Clips as HLS ladders (RFC 8216), from moving pictures and tones that ffmpeg makes itself."""

import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import draws, workers
from .errors import Problem
from .tables import PARTIAL

SEGMENT_S = 6
"""Source: Apple's HLS authoring specification, 7.5."""
FPS = 15
"""Enough for what moves here, and half as much to encode as 30."""
AUDIO_KBPS = 48
LENGTHS_S = (120, 150, 132, 180, 240, 300, 420, 600)
"""Of clip 1, 2, ...: 2 to 10 minutes."""
MOST = len(LENGTHS_S)
"""Clips, at most."""

RUNNING: list[subprocess.Popen] = []
"""Programs of other threads."""


@dataclass(frozen=True)
class Rendition:
    """One rung of the ladder. `kbps` holds picture and sound."""

    width: int
    height: int
    kbps: int
    level: str
    """Source: H.264, table A-1, for this size at `FPS`."""

    @property
    def name(self) -> str:
        return f"{self.height}p"

    @property
    def codecs(self) -> str:
        """RFC 6381: constrained baseline, the level, and AAC-LC."""
        return f"avc1.42C0{round(float(self.level) * 10):02X},mp4a.40.2"


LADDER = (
    Rendition(426, 240, 200, "3.0"),
    Rendition(640, 360, 400, "3.0"),
    Rendition(854, 480, 700, "3.0"),
    Rendition(1280, 720, 1200, "3.1"),
)


def name(clip: int) -> str:
    return f"clip-{clip}"


def seconds(clip: int) -> int:
    return LENGTHS_S[(clip - 1) % MOST]


def version() -> str:
    """What ffmpeg says it is."""
    ended = subprocess.run([program(), "-hide_banner", "-version"], capture_output=True, text=True, check=False)
    found = re.match(r"ffmpeg version (\S+)", ended.stdout)
    return found[1] if found else "unknown"


def program() -> str:
    path = shutil.which("ffmpeg")
    if path is None:
        raise Problem("ffmpeg is missing, which makes the clips; install it: apt-get install ffmpeg (or use --no-video)")
    return path


def picture(clip: int, seed: int) -> str:
    """The source of the picture of a clip, as a graph of filters."""
    draw = draws.words(seed, "clip", clip)
    size, number = "size=1280x720", draw.randrange(1 << 30)
    rate = f"rate={FPS}"
    colours = ":".join(f"c{at}=0x{draw.randrange(1 << 24):06x}" for at in range(4))
    kinds = (
        # Gradients are smooth: half the size is as good, and takes a quarter of the time.
        f"gradients=size=640x360:{rate}:nb_colors=4:{colours}:seed={number}:speed=0.03:type=linear,"
        "format=yuv420p,scale=1280:720:flags=fast_bilinear,"
        # A square that bounces.
        "drawbox=x='abs(mod(t*190\\,2360)-1180)':y='abs(mod(t*130\\,1240)-620)':w=100:h=100:color=white@0.9:t=fill",
        f"testsrc2={size}:{rate}",
        f"life=size=160x90:{rate}:mold=12:seed={number}:life_color=0xffd166:death_color=0x1d3557:mold_color=0x0b132b:ratio=0.3,"
        "scale=1280:720:flags=neighbor",
        f"sierpinski={size}:{rate}:seed={number}:jump=40:type=triangle,colorize=hue=190:saturation=0.7:lightness=0.5",
    )
    return kinds[(clip - 1) % len(kinds)]


def command(clip: int, seed: int, folder: Path) -> list[str]:
    """ffmpeg with one source and one playlist a rendition."""
    length = seconds(clip)
    count = len(LADDER)
    draw = draws.words(seed, "tone", clip)
    tone = draw.choice((196, 220, 262, 294, 330))
    sound = f"sine=frequency={tone}:beep_factor=4:sample_rate=44100"
    split = f"[0:v]format=yuv420p,split={count}" + "".join(f"[s{at}]" for at in range(count))
    scales = [f"[s{at}]scale={rung.width}:{rung.height}:flags=fast_bilinear[v{at}]" for at, rung in enumerate(LADDER)]
    args = [
        program(),
        # Same versions and arguments give the same bytes: one thread, no dates, no program names.
        *"-nostdin -v error -y -filter_threads 1 -filter_complex_threads 1 -f lavfi -i".split(),
        picture(clip, seed),
        *"-f lavfi -i".split(),
        sound,
        "-filter_complex",
        ";".join([split, *scales]),
    ]
    for at, rung in enumerate(LADDER):
        kbps = rung.kbps - AUDIO_KBPS
        (folder / rung.name).mkdir(parents=True, exist_ok=True)
        args += f"-map [v{at}] -map 1:a -t {length} -c:v libx264 -preset ultrafast -threads 1 -profile:v baseline".split()
        args += f"-level:v {rung.level} -b:v {kbps}k -maxrate {kbps}k -bufsize {2 * kbps}k".split()
        # A keyframe at each cut, and nowhere else.
        args += f"-g {FPS * SEGMENT_S} -keyint_min {FPS * SEGMENT_S} -sc_threshold 0".split()
        args += f"-c:a aac -b:a {AUDIO_KBPS}k -ac 1 -fflags +bitexact -flags:v +bitexact -flags:a +bitexact".split()
        args += f"-f hls -hls_time {SEGMENT_S} -hls_playlist_type vod -hls_list_size 0 -hls_segment_filename".split()
        args += [str(folder / rung.name / "%05d.ts"), str(folder / rung.name / "index.m3u8")]
    return args


def make(clip: int, seed: int, folder: Path) -> None:
    """Makes the clip as `folder`, which gets its name once it is whole."""
    partial = folder.with_name("." + folder.name + PARTIAL)
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    process = subprocess.Popen(
        command(clip, seed, partial),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        preexec_fn=functools.partial(workers.die_with, os.getpid()),
    )
    RUNNING.append(process)
    _, errors = process.communicate()
    RUNNING.remove(process)
    if process.returncode:
        raise Problem(f"ffmpeg cannot make {name(clip)}:\n" + "\n".join(errors.splitlines()[-5:]))
    (partial / "master.m3u8").write_text(master(partial))
    for path in partial.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def stop() -> None:
    """Ends the clips that are being made in other threads."""
    for process in list(RUNNING):
        process.kill()


def master(folder: Path) -> str:
    """The master playlist, with the bit rates that the segments have."""
    lines = ["#EXTM3U", "#EXT-X-VERSION:3", "#EXT-X-INDEPENDENT-SEGMENTS"]
    for rung in LADDER:
        segments = playlist(folder / rung.name / "index.m3u8")
        rates = [8 * (folder / rung.name / file).stat().st_size / length for file, length in segments]
        whole = sum(8 * (folder / rung.name / file).stat().st_size for file, _ in segments)
        mean = whole / sum(length for _, length in segments)
        lines += [
            f"#EXT-X-STREAM-INF:BANDWIDTH={round(max(rates))},AVERAGE-BANDWIDTH={round(mean)},"
            f'RESOLUTION={rung.width}x{rung.height},FRAME-RATE={FPS}.000,CODECS="{rung.codecs}"',
            f"{rung.name}/index.m3u8",
        ]
    return "\n".join(lines) + "\n"


def playlist(path: Path) -> list[tuple[str, float]]:
    """The segments of a media playlist, each with its length in seconds."""
    out, length = [], 0.0
    for line in path.read_text().splitlines():
        if line.startswith("#EXTINF:"):
            length = float(line[8:].split(",")[0])
        elif line and not line.startswith("#"):
            out.append((line, length))
    return out
