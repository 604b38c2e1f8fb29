use std::io;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use bytes::Bytes;

use super::*;

#[derive(Clone, Default)]
struct Slow {
    got: Arc<Mutex<Vec<u8>>>,
    room: Arc<Mutex<usize>>,
}

impl Sink for Slow {
    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut room = self.room.lock().unwrap();
        let n = bytes.len().min(*room);
        if n == 0 {
            return Poll::Pending;
        }
        *room -= n;
        self.got.lock().unwrap().extend_from_slice(&bytes[..n]);
        Poll::Ready(Ok(n))
    }
    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
        Poll::Ready(Ok(()))
    }
}

fn place() -> Place {
    Arc::new(tokio::sync::Semaphore::new(1)).try_acquire_owned().unwrap()
}

fn job(typed: Typed) -> (Job, oneshot::Sender<()>, oneshot::Receiver<Result<Written, LineTooLong>>) {
    let (cancel, cancelled) = oneshot::channel();
    let (reply, answer) = oneshot::channel();
    (Job::new(typed, cancelled, reply, place()), cancel, answer)
}

fn turn(queue: &mut InputQueue, sink: &mut Option<Box<dyn Sink>>) -> InputStep {
    queue.poll_write(&mut Context::from_waker(Waker::noop()), sink, 10, &mut |_| false)
}

#[test]
fn law_07_a_cut_paste_is_closed_and_nothing_comes_between() {
    let slow = Slow::default();
    let mut sink: Option<Box<dyn Sink>> = Some(Box::new(slow.clone()));
    let mut queue = InputQueue::default();
    let paste = Typed { bytes: Bytes::from_static(b"<hello>"), if_cut: Bytes::from_static(b">") };
    let (first, cancel, mut answer) = job(paste);
    let (second, _keep, _answer) = job(Typed::raw(&b"next"[..]));
    queue.push(first);
    queue.push(second);
    *slow.room.lock().unwrap() = 3;
    turn(&mut queue, &mut sink);
    queue.push_answer(b"R".to_vec(), Asker::default(), sink.as_deref());
    drop(cancel);
    turn(&mut queue, &mut sink);
    *slow.room.lock().unwrap() = 100;
    turn(&mut queue, &mut sink);
    assert_eq!(*slow.got.lock().unwrap(), b"<he>Rnext");
    assert_eq!(
        answer.try_recv().unwrap().unwrap(),
        Written { taken: 3, taken_back: 4, mark: 10, input_ended: false }
    );
    assert!(queue.is_empty());
}

/// Says only when it is asked again what it took, and then how much was printed since.
#[derive(Default)]
struct Late {
    got: Arc<Mutex<Vec<u8>>>,
    under_way: Option<Vec<u8>>,
}

impl Sink for Late {
    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.under_way.take() {
            Some(taken) => {
                assert!(bytes.starts_with(&taken), "others came before what was under way");
                Poll::Ready(Ok(taken.len()))
            }
            None => {
                self.got.lock().unwrap().extend_from_slice(bytes);
                self.under_way = Some(bytes.to_vec());
                Poll::Pending
            }
        }
    }
    fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }
    fn run_ahead(&self) -> u64 {
        4
    }
    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ControlError>> {
        Poll::Ready(Ok(()))
    }
}

#[test]
fn nothing_comes_before_bytes_that_are_on_their_way_and_none_of_them_are_taken_back() {
    let got = Arc::default();
    let mut sink: Option<Box<dyn Sink>> = Some(Box::new(Late { got: Arc::clone(&got), under_way: None }));
    let mut queue = InputQueue::default();
    let (first, cancel, mut answer) = job(Typed::raw(&b"first"[..]));
    queue.push(first);
    turn(&mut queue, &mut sink);
    queue.push_answer(b"R".to_vec(), Asker::default(), sink.as_deref());
    drop(cancel);
    turn(&mut queue, &mut sink);
    turn(&mut queue, &mut sink);
    assert_eq!(*got.lock().unwrap(), b"firstR");
    assert_eq!(
        answer.try_recv().unwrap().unwrap(),
        Written { taken: 5, taken_back: 0, mark: 10, input_ended: false }
    );
    assert!(matches!(queue.take_typed()[..], [(Keys::Text, 6)]), "from before what was printed since");
}

#[test]
fn case_sec01_an_answer_is_not_written_when_its_asker_has_gone_while_it_waited() {
    let slow = Slow::default();
    let mut sink: Option<Box<dyn Sink>> = Some(Box::new(slow.clone()));
    let mut queue = InputQueue::default();
    let (first, _keep, _answer) = job(Typed::raw(&b"typed"[..]));
    queue.push(first);
    *slow.room.lock().unwrap() = 2;
    turn(&mut queue, &mut sink);
    queue.push_answer(b"ANSWER".to_vec(), Asker::default(), sink.as_deref());
    *slow.room.lock().unwrap() = 100;
    let mut cx = Context::from_waker(Waker::noop());
    queue.poll_write(&mut cx, &mut sink, 10, &mut |_| true);
    assert_eq!(*slow.got.lock().unwrap(), b"typed");
    // One that began goes on: half of it would be read as keys.
    *slow.room.lock().unwrap() = 2;
    queue.push_answer(b"<ANSWER>".to_vec(), Asker::default(), sink.as_deref());
    queue.poll_write(&mut cx, &mut sink, 10, &mut |_| false);
    *slow.room.lock().unwrap() = 100;
    queue.poll_write(&mut cx, &mut sink, 10, &mut |_| true);
    assert_eq!(*slow.got.lock().unwrap(), b"typed<ANSWER>");
    assert!(queue.is_empty());
}

#[test]
fn a_write_whose_deadline_has_passed_is_tried_once_and_one_whose_caller_is_gone_is_not() {
    let slow = Slow::default();
    let mut sink: Option<Box<dyn Sink>> = Some(Box::new(slow.clone()));
    let mut queue = InputQueue::default();
    let (late, cancel, mut answer) = job(Typed::raw(&b"late"[..]));
    let (abandoned, gone, mut unheard) = job(Typed::raw(&b"gone"[..]));
    queue.push(late);
    cancel.send(()).unwrap();
    *slow.room.lock().unwrap() = 3;
    turn(&mut queue, &mut sink);
    let taken = answer.try_recv().unwrap().unwrap();
    assert_eq!((taken.taken, taken.taken_back), (3, 1));
    queue.push(abandoned);
    drop(gone);
    *slow.room.lock().unwrap() = 100;
    turn(&mut queue, &mut sink);
    assert_eq!(unheard.try_recv().unwrap().unwrap().taken_back, 4);
    assert_eq!(*slow.got.lock().unwrap(), b"lat");
}

#[test]
fn a_write_that_never_began_is_taken_back_whole() {
    let slow = Slow::default();
    let mut sink: Option<Box<dyn Sink>> = Some(Box::new(slow.clone()));
    let mut queue = InputQueue::default();
    let (first, cancel, mut answer) =
        job(Typed { bytes: Bytes::from_static(b"abc"), if_cut: Bytes::from_static(b">") });
    queue.push(first);
    turn(&mut queue, &mut sink);
    drop(cancel);
    *slow.room.lock().unwrap() = 100;
    turn(&mut queue, &mut sink);
    assert!(slow.got.lock().unwrap().is_empty());
    assert_eq!(answer.try_recv().unwrap().unwrap().taken_back, 3);
}

#[test]
fn case_h01_a_write_behind_one_that_is_stuck_is_taken_back_at_its_own_deadline() {
    let slow = Slow::default();
    let mut sink: Option<Box<dyn Sink>> = Some(Box::new(slow.clone()));
    let mut queue = InputQueue::default();
    let (stuck, _keep, _never) = job(Typed::raw(&b"stuck"[..]));
    let (second, cancel, mut answer) = job(Typed::raw(&b"second"[..]));
    let (third, _keep_third, mut later) = job(Typed::raw(&b"third"[..]));
    for job in [stuck, second, third] {
        queue.push(job);
    }
    *slow.room.lock().unwrap() = 2;
    turn(&mut queue, &mut sink);
    drop(cancel);
    turn(&mut queue, &mut sink);
    let taken_back = Written { taken: 0, taken_back: 6, mark: 10, input_ended: false };
    assert_eq!(answer.try_recv().unwrap().unwrap(), taken_back);
    *slow.room.lock().unwrap() = 100;
    turn(&mut queue, &mut sink);
    assert_eq!(*slow.got.lock().unwrap(), b"stuckthird");
    assert_eq!(later.try_recv().unwrap().unwrap().taken, 5);
}

#[test]
fn case_e05_the_end_of_the_input_waits_for_what_was_typed_before_it() {
    let slow = Slow::default();
    let mut sink: Option<Box<dyn Sink>> = Some(Box::new(slow.clone()));
    let mut queue = InputQueue::default();
    let (first, _keep, _answer) = job(Typed::raw(&b"abc"[..]));
    let (reply, mut closed) = oneshot::channel();
    queue.push(first);
    queue.push(Job::Close(reply, place()));
    turn(&mut queue, &mut sink);
    assert!(sink.is_some() && closed.try_recv().is_err(), "still open while bytes wait");
    *slow.room.lock().unwrap() = 100;
    turn(&mut queue, &mut sink);
    assert_eq!(*slow.got.lock().unwrap(), b"abc");
    assert!(sink.is_none());
    assert_eq!(closed.try_recv().unwrap(), Ok(()));
}

#[test]
fn writes_to_an_input_that_ended_are_answered_so() {
    let mut queue = InputQueue::default();
    let (first, _cancel, mut answer) = job(Typed::raw(&b"abc"[..]));
    queue.push(first);
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(queue.poll_write(&mut cx, &mut None, 5, &mut |_| false), InputStep::Ended);
    assert!(answer.try_recv().unwrap().unwrap().input_ended);
}
