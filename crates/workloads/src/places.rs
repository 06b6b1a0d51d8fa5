/// Puts a value into a free place of a table, or a new one; returns the place.
pub(crate) fn put<T>(all: &mut Vec<T>, free: &mut Vec<u32>, value: T) -> u32 {
    let place = free.pop().unwrap_or(all.len() as u32);
    match all.get_mut(place as usize) {
        Some(old) => *old = value,
        None => all.push(value),
    }
    place
}
