/// Moves `centres` as little as needed for labels of the given `sizes` not to overlap between `low` and `high`.
///
/// The order is kept. Labels that do not all fit are packed from `low` on.
pub(crate) fn place(centres: &[f64], sizes: &[f64], low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..centres.len()).collect();
    order.sort_by(|&a, &b| centres[a].total_cmp(&centres[b]));
    // Groups of touching labels, each centred on the mean of its members' wanted positions (pool adjacent violators).
    let mut groups: Vec<(Vec<usize>, f64)> = Vec::new();
    for i in order {
        groups.push((vec![i], centres[i]));
        while let [.., before, last] = groups.as_slice() {
            let size = |group: &(Vec<usize>, f64)| group.0.iter().map(|&i| sizes[i]).sum::<f64>();
            if before.1 + size(before) / 2.0 <= last.1 - size(last) / 2.0 {
                break;
            }
            let members: Vec<usize> = before.0.iter().chain(&last.0).copied().collect();
            let mut offset = 0.0;
            let wanted = members.iter().map(|&i| {
                let start = centres[i] - offset - sizes[i] / 2.0;
                offset += sizes[i];
                start
            });
            let start = wanted.sum::<f64>() / members.len() as f64;
            groups.truncate(groups.len() - 2);
            groups.push((members, start + offset / 2.0));
        }
    }
    let mut placed = centres.to_vec();
    let mut edge = low;
    let mut sequence = Vec::new();
    for (members, centre) in groups {
        let total: f64 = members.iter().map(|&i| sizes[i]).sum();
        edge = edge.max(centre - total / 2.0);
        for i in members {
            placed[i] = edge + sizes[i] / 2.0;
            edge += sizes[i];
            sequence.push(i);
        }
    }
    // Labels beyond the far end are pushed back, neighbour by neighbour.
    let mut edge = high;
    for i in sequence.into_iter().rev() {
        if placed[i] + sizes[i] / 2.0 > edge {
            placed[i] = (edge - sizes[i] / 2.0).max(low + sizes[i] / 2.0);
        }
        edge = placed[i] - sizes[i] / 2.0;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_apart_and_inside() {
        let check = |centres: &[f64], size: f64, expect: &[f64]| {
            let sizes = vec![size; centres.len()];
            assert_eq!(place(centres, &sizes, 0.0, 100.0), expect, "{centres:?}");
        };
        check(&[], 10.0, &[]);
        check(&[50.0], 10.0, &[50.0]);
        check(&[20.0, 80.0], 10.0, &[20.0, 80.0]);
        check(&[50.0, 52.0], 10.0, &[46.0, 56.0]);
        check(&[52.0, 50.0], 10.0, &[56.0, 46.0]);
        check(&[2.0, 3.0], 10.0, &[5.0, 15.0]);
        check(&[99.0, 98.0], 10.0, &[95.0, 85.0]);
        check(&[50.0, 50.0, 50.0], 10.0, &[40.0, 50.0, 60.0]);
    }
}
