//! Each instance's share of threads and processors.

/// Part `number` of `whole`, divided as evenly as possible; the first parts take the remainder.
pub fn part(whole: usize, number: usize, parts: usize) -> usize {
    whole / parts + usize::from(number < whole % parts)
}

/// The processors of instance `number`: exclusive if there are enough, otherwise a shared one.
pub fn part_of_cpus(cpus: &[usize], number: usize, instances: usize) -> Vec<usize> {
    if cpus.is_empty() {
        return Vec::new();
    }
    if cpus.len() < instances {
        return vec![cpus[number % cpus.len()]];
    }
    let before: usize = (0..number).map(|other| part(cpus.len(), other, instances)).sum();
    cpus[before..before + part(cpus.len(), number, instances)].to_vec()
}
