use std::collections::BTreeMap;

use maud::{Markup, html};
use results::Trial;
use results::probes::Stack;

use super::canvas::Anchor;
use super::{Canvas, Size};

/// A function with its callees, and the samples in each.
#[derive(Default)]
struct Node {
    count: u64,
    calls: BTreeMap<String, Node>,
}

/// Frames deeper than this are not drawn; a server's deepest are about 60.
const DEEPEST: usize = 48;
/// Narrower boxes are not drawn. Units: pixels.
const NARROW: f64 = 0.7;

/// A flame graph: who called whom, by how much of the time.
pub(crate) fn flame(label: &str, trial: &Trial) -> Markup {
    let Some(processor) = trial.probes.as_ref().and_then(|probes| probes.processor.as_ref()) else {
        return html! {};
    };
    let caption = html! {
        "At " (label) ": a box is a function, as wide as its share of " (processor.samples) " samples; what it called stands on \
         it. Blue: the kernel; orange: the program and its libraries. Boxes without symbols bear their file’s name."
    };
    super::wide("Which code used the processors", false, caption, |size| draw(&processor.stacks, size))
}

fn tree(stacks: &[Stack]) -> Node {
    let mut root = Node::default();
    for stack in stacks {
        root.count += stack.count;
        let mut node = &mut root;
        for frame in stack.frames.split(';').filter(|frame| !frame.is_empty()).take(DEEPEST) {
            node = node.calls.entry(frame.to_owned()).or_default();
            node.count += stack.count;
        }
    }
    root
}

impl Node {
    /// The number of levels that are wide enough to be visible.
    fn depth(&self, pixels_per_sample: f64) -> usize {
        let seen = self.calls.values().filter(|node| node.count as f64 * pixels_per_sample >= NARROW);
        seen.map(|node| 1 + node.depth(pixels_per_sample)).max().unwrap_or(0)
    }
}

fn draw(stacks: &[Stack], size: Size) -> Canvas {
    let mut canvas = Canvas::new(size);
    let root = tree(stacks);
    let scale = canvas.width / root.count.max(1) as f64;
    let row = 1.35 * size.font();
    canvas.height = row * root.depth(scale).max(1) as f64 + 2.0;
    let bottom = canvas.height - 1.0;
    boxes(&mut canvas, &root, (0.0, bottom), scale, row);
    canvas
}

fn boxes(canvas: &mut Canvas, node: &Node, (left, bottom): (f64, f64), scale: f64, row: f64) {
    let font = canvas.size.font();
    let mut x = left;
    for (name, call) in &node.calls {
        let width = call.count as f64 * scale;
        if width >= NARROW {
            let in_kernel = name.ends_with("_[k]");
            let name = name.trim_end_matches("_[k]");
            let class = if in_kernel { "bar l1" } else { "bar s1" };
            canvas.rect(class, (x, bottom - row + 1.0), width - 0.5, row - 1.0);
            let fits = ((width - 6.0) / (0.6 * font)) as usize;
            if fits >= 3 {
                let cut: String = name.chars().take(fits).collect();
                canvas.text("flame", (x + 3.0, bottom - 0.35 * row), Anchor::Start, cut);
            }
            boxes(canvas, call, (x, bottom - row), scale, row);
        }
        x += width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_become_a_tree() {
        let stack = |frames: &str, count| Stack { frames: frames.into(), count };
        let root = tree(&[stack("a;b", 3), stack("a;c", 1), stack("d", 4), stack("", 2)]);
        assert_eq!(root.count, 10);
        let a = &root.calls["a"];
        assert_eq!((a.count, a.calls["b"].count, a.calls["c"].count), (4, 3, 1));
        assert_eq!(root.depth(1.0), 2);
        assert_eq!(root.depth(0.2), 1, "only what is wide enough counts");
        let deep = tree(&[stack(&vec!["f"; 1000].join(";"), 1)]);
        assert_eq!(deep.depth(1.0), DEEPEST);
    }
}
