//! Typing into a program: whoever follows it is asked to.

use std::future::Future;

use tokio::sync::{mpsc, oneshot};

use super::place::Order;
use crate::remote::http::CallError;
use crate::remote::input;

/// Who types into one program. What was said to be taken, the program has taken.
#[derive(Clone)]
pub(super) struct Typist {
    pub(super) orders: mpsc::Sender<Order>,
}

impl Typist {
    fn ask(
        &self,
        order: impl FnOnce(oneshot::Sender<()>) -> Order + Send + 'static,
    ) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        let orders = self.orders.clone();
        async move {
            let gone = || CallError::Broken("the terminal is gone".to_owned());
            let (done, is_done) = oneshot::channel();
            orders.send(order(done)).await.map_err(|_| gone())?;
            is_done.await.map_err(|_| gone())
        }
    }
}

impl input::Typist for Typist {
    const PIECE: usize = 16 << 10;

    fn send(&self, bytes: Vec<u8>) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        self.ask(move |taken| Order::Type(bytes, taken))
    }

    fn close(&self) -> impl Future<Output = Result<(), CallError>> + Send + 'static {
        self.ask(Order::Close)
    }
}
