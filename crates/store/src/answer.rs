//! How the store answers.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use tokio::task::unconstrained;

use crate::error::StoreError;

/// What a call comes to. It needs no runtime of any kind. Dropped before it is ready, the call may have happened or not.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// What an answer outlives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Survives {
    /// The death of the server, as by `kill -9`. Enough for what is about programs of this machine, which end with it.
    Server,
    /// The death of the machine: it was written through to the disk.
    Machine,
}

/// Holds this thread until the answer is there: for a start, when nothing else is to be done meanwhile.
pub fn wait<T>(answer: Answer<'_, T>) -> Result<T, StoreError> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    // In a task of a runtime, what an answer waits for asks for a share of that task's time, which is never given anew
    // while this holds the thread.
    let mut answer = pin!(unconstrained(answer));
    loop {
        match answer.as_mut().poll(&mut context) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn any_number_of_answers_can_be_waited_for_in_one_task() {
        let (done, is_done) = mpsc::sync_channel(1);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let place = Semaphore::new(1);
            runtime.block_on(async {
                for _ in 0..1_000 {
                    assert!(wait(Box::pin(async { Ok(place.acquire().await.is_ok()) })).unwrap());
                }
            });
            done.send(()).unwrap();
        });
        is_done.recv_timeout(Duration::from_secs(60)).expect("it goes on after the share of a task");
    }
}
