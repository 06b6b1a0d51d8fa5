use nix::libc;
use rustix::io::Errno;
use rustix::process::Pid;

const BITS: usize = usize::BITS as usize;
/// Processors of the first mask that is passed to the kernel; the fixed masks of C libraries hold as many.
const FIRST: usize = 1024;

/// A set of logical processors as the kernel takes it: a bit for each, as many as the machine may have.
#[derive(Clone, Debug)]
pub struct CpuMask {
    words: Vec<usize>,
}

impl CpuMask {
    /// A mask holds processors below this number, 8 times as many as a kernel can be built for.
    pub const MAX_CPU: usize = 1 << 16;

    /// The processors that a thread may run on, or the calling one. As long as the kernel's own masks.
    ///
    /// Errors: those of `sched_getaffinity(2)`.
    pub fn of(thread: Option<Pid>) -> Result<CpuMask, Errno> {
        grown(|words| read(thread, words))
    }

    /// All processors that a mask of this length can name.
    pub fn filled(mut self) -> CpuMask {
        self.words.fill(usize::MAX);
        self
    }

    /// Whether `cpu` is one of them.
    pub fn contains(&self, cpu: usize) -> bool {
        self.words.get(cpu / BITS).is_some_and(|word| (word >> (cpu % BITS)) & 1 == 1)
    }

    /// The processors, ascending.
    pub fn cpus(&self) -> Vec<usize> {
        (0..self.words.len() * BITS).filter(|&cpu| self.contains(cpu)).collect()
    }

    /// Lets a thread, or the calling one, run on these processors only. The kernel leaves out processors that are offline
    /// or outside the cpuset.
    ///
    /// Errors: those of `sched_setaffinity(2)`.
    pub fn apply(&self, thread: Option<Pid>) -> Result<(), Errno> {
        // SAFETY: the kernel reads as many bytes as the words have.
        let result = unsafe {
            let (bytes, words) = (size_of_val(&self.words[..]), self.words.as_ptr());
            libc::syscall(libc::SYS_sched_setaffinity, Pid::as_raw(thread), bytes, words)
        };
        answer(result)?;
        Ok(())
    }

    /// Whether the calling thread may run on these processors and on no others, by way of `room`, a mask of
    /// [`CpuMask::of`]. Makes one system call and allocates nothing, so it may be asked between fork and exec.
    ///
    /// Errors: those of `sched_getaffinity(2)`.
    pub fn is_applied(&self, room: &mut CpuMask) -> Result<bool, Errno> {
        room.words.fill(0);
        read(None, &mut room.words)?;
        let words = self.words.len().max(room.words.len());
        let word = |mask: &CpuMask, at| mask.words.get(at).copied().unwrap_or(0);
        Ok((0..words).all(|at| word(self, at) == word(room, at)))
    }
}

impl FromIterator<usize> for CpuMask {
    /// Bounds: processors below [`CpuMask::MAX_CPU`]; others are left out.
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> CpuMask {
        let mut words = vec![0; FIRST / BITS];
        for cpu in cpus.into_iter().filter(|&cpu| cpu < CpuMask::MAX_CPU) {
            if words.len() <= cpu / BITS {
                words.resize(cpu / BITS + 1, 0);
            }
            words[cpu / BITS] |= 1 << (cpu % BITS);
        }
        CpuMask { words }
    }
}

/// The mask that `ask` fills, which says how many bytes it wrote. The kernel refuses a mask that is shorter than its own by
/// `EINVAL`, and its own has a bit for each processor that the machine may have; so longer ones follow.
///
/// Source: `sched_getaffinity(2)`, handling systems with large CPU affinity masks.
fn grown(mut ask: impl FnMut(&mut [usize]) -> Result<usize, Errno>) -> Result<CpuMask, Errno> {
    let mut words = vec![0; FIRST / BITS];
    loop {
        match ask(&mut words) {
            Err(Errno::INVAL) if words.len() * BITS < CpuMask::MAX_CPU => words = vec![0; 2 * words.len()],
            filled => {
                words.truncate(filled? / size_of::<usize>());
                return Ok(CpuMask { words });
            }
        }
    }
}

/// Bytes of the words that the kernel wrote.
fn read(thread: Option<Pid>, words: &mut [usize]) -> Result<usize, Errno> {
    let bytes = size_of_val(words);
    // SAFETY: the kernel writes at most as many bytes as the words have.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, Pid::as_raw(thread), bytes, words.as_mut_ptr()) };
    answer(result)
}

fn answer(result: libc::c_long) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| Errno::from_raw_os_error(nix::errno::Errno::last_raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_grows_to_the_kernels() {
        let check = |processors: usize, allowed: &[usize], questions: usize| {
            let mut asked = 0;
            let kernel = |words: &mut [usize]| {
                asked += 1;
                if words.len() * BITS < processors {
                    return Err(Errno::INVAL);
                }
                allowed.iter().for_each(|cpu| words[cpu / BITS] |= 1 << (cpu % BITS));
                Ok(processors.next_multiple_of(BITS) / 8)
            };
            let mask = grown(kernel).unwrap();
            assert_eq!((mask.cpus(), asked), (allowed.to_vec(), questions), "{processors}");
            assert_eq!(mask.words.len(), processors.div_ceil(BITS));
            assert_eq!(mask.filled().cpus().len(), processors.next_multiple_of(BITS));
        };
        check(2, &[0, 1], 1);
        check(1024, &[1023], 1);
        check(2048, &[3, 1024, 2047], 2);
        check(5000, &[4999], 4);
    }

    #[test]
    fn only_a_short_mask_is_asked_for_again() {
        let check = |error, questions: usize| {
            let mut asked = 0;
            let kernel = |_: &mut [usize]| {
                asked += 1;
                Err(error)
            };
            assert_eq!(grown(kernel).err(), Some(error));
            assert_eq!(asked, questions);
        };
        check(Errno::SRCH, 1);
        // A kernel that refuses every mask.
        check(Errno::INVAL, 7);
    }

    #[test]
    fn holds_any_processor_up_to_the_most() {
        let check = |cpus: &[usize], expect: &[usize]| {
            assert_eq!(cpus.iter().copied().collect::<CpuMask>().cpus(), expect);
        };
        check(&[], &[]);
        check(&[2047, 0, 63, 64, 2047], &[0, 63, 64, 2047]);
        check(&[CpuMask::MAX_CPU - 1, CpuMask::MAX_CPU, usize::MAX], &[CpuMask::MAX_CPU - 1]);
    }

    #[test]
    fn what_is_applied_is_read_back() {
        let thread = || {
            let own = CpuMask::of(None).unwrap();
            let first: CpuMask = [own.cpus()[0]].into_iter().collect();
            first.apply(None).unwrap();
            let mut room = own.clone();
            assert!(first.is_applied(&mut room).unwrap());
            assert_eq!(CpuMask::of(None).unwrap().cpus(), first.cpus());
            // The kernel leaves out processors that the machine does not have.
            let more: CpuMask = [first.cpus()[0], CpuMask::MAX_CPU - 1].into_iter().collect();
            more.apply(None).unwrap();
            assert!(!more.is_applied(&mut room).unwrap() && first.is_applied(&mut room).unwrap());
            let none: CpuMask = [CpuMask::MAX_CPU - 1].into_iter().collect();
            assert_eq!(none.apply(None), Err(Errno::INVAL));
        };
        std::thread::spawn(thread).join().unwrap();
    }
}
