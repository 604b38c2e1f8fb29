//! Named pause points: a test holds a task at a point, does what must happen in between, and lets it go.
//!
//! Without the `pause-points` feature a point is nothing at all.

#[cfg(feature = "pause-points")]
mod imp {
    use std::collections::HashMap;
    use std::sync::{Arc, Mutex, PoisonError};

    use tokio::sync::Semaphore;

    struct Gate {
        reached: Semaphore,
        go: Semaphore,
    }

    /// The pause points of one terminal.
    #[derive(Clone, Default)]
    pub struct Pauses(Arc<Mutex<HashMap<&'static str, Arc<Gate>>>>);

    /// A held point. Dropped, it lets everybody through.
    pub struct Hold {
        gate: Arc<Gate>,
        name: &'static str,
        pauses: Pauses,
    }

    impl Pauses {
        /// Holds every task that comes to `name` from now on.
        #[must_use]
        pub fn hold(&self, name: &'static str) -> Hold {
            let gate = Arc::new(Gate { reached: Semaphore::new(0), go: Semaphore::new(0) });
            self.gates().insert(name, Arc::clone(&gate));
            Hold { gate, name, pauses: self.clone() }
        }

        fn gates(&self) -> std::sync::MutexGuard<'_, HashMap<&'static str, Arc<Gate>>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// A point.
        pub async fn point(&self, name: &'static str) {
            let gate = self.gates().get(name).cloned();
            if let Some(gate) = gate {
                gate.reached.add_permits(1);
                if let Ok(permit) = gate.go.acquire().await {
                    permit.forget();
                }
            }
        }
    }

    impl Hold {
        /// Waits until a task stands at the point.
        pub async fn reached(&self) {
            self.gate
                .reached
                .acquire()
                .await
                .expect("invariant: gates are never closed before they are dropped")
                .forget();
        }

        /// Lets one task go on.
        pub fn release_one(&self) {
            self.gate.go.add_permits(1);
        }
    }

    impl Drop for Hold {
        fn drop(&mut self) {
            self.pauses.gates().remove(self.name);
            self.gate.go.close();
        }
    }
}

#[cfg(not(feature = "pause-points"))]
mod imp {
    /// The pause points of one terminal: none in this build.
    #[derive(Clone, Default)]
    pub struct Pauses(());

    impl Pauses {
        /// A point: nothing.
        #[expect(clippy::unused_async, reason = "the same shape as with the feature")]
        pub async fn point(&self, _name: &'static str) {}
    }
}

#[cfg(feature = "pause-points")]
pub use imp::Hold;
pub use imp::Pauses;
