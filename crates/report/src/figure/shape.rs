/// A marker. Shapes differ so that two curves never differ by colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Circle,
    Square,
    OpenSquare,
    Triangle,
    Diamond,
    Hexagon,
    Cross,
}

impl Shape {
    /// The markers of subjects, by their slot.
    pub(crate) fn of_slot(slot: usize) -> Shape {
        [Shape::Circle, Shape::Square, Shape::Triangle, Shape::Diamond, Shape::Hexagon][slot % 5]
    }

    /// Whether only its outline is drawn.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Shape::OpenSquare | Shape::Cross)
    }

    /// SVG path data around (0, 0) for a marker of about `r` to each side.
    pub(crate) fn path(self, r: f64) -> String {
        let polygon = |corners: u32, start: f64, r: f64| {
            let mut path = String::new();
            for corner in 0..corners {
                let angle = start + f64::from(corner) * std::f64::consts::TAU / f64::from(corners);
                let letter = if corner == 0 { 'M' } else { 'L' };
                path.push_str(&format!("{letter}{:.2} {:.2}", r * angle.sin(), -r * angle.cos()));
            }
            path + "Z"
        };
        let eighth = std::f64::consts::FRAC_PI_4;
        match self {
            Shape::Circle => {
                format!("M{r:.2} 0A{r:.2} {r:.2} 0 1 1 {:.2} 0A{r:.2} {r:.2} 0 1 1 {r:.2} 0Z", -r)
            }
            // Areas are kept alike: a square of half-diagonal 1.3 r looks as heavy as a circle of r.
            Shape::Square | Shape::OpenSquare => polygon(4, eighth, 1.3 * r),
            Shape::Triangle => polygon(3, 0.0, 1.4 * r),
            Shape::Diamond => polygon(4, 0.0, 1.3 * r),
            Shape::Hexagon => polygon(6, 0.0, 1.15 * r),
            Shape::Cross => format!("M{0:.2} {0:.2}L{1:.2} {1:.2}M{0:.2} {1:.2}L{1:.2} {0:.2}", -r, r),
        }
    }
}
