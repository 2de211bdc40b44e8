//! The two flavours of a host: what may move between threads, and what stays on one.

use crate::core::model::ModelItem;
use futures_core::Stream;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

/// Whether a host's parts may move between threads: [`Shared`] or [`Local`]. Sealed.
pub trait Flavour: sealed::Sealed + Sized + fmt::Debug + 'static {
    #[doc(hidden)]
    type Future<R: 'static>: Future<Output = R> + Unpin + 'static;
    #[doc(hidden)]
    type Stream: Stream<Item = ModelItem> + Unpin + 'static;
    #[doc(hidden)]
    type Function<A: 'static, R: 'static>: Clone + 'static;
    #[doc(hidden)]
    fn call<A: 'static, R: 'static>(function: &Self::Function<A, R>, argument: A) -> R;
    #[doc(hidden)]
    fn ready<R: Send + 'static>(value: R) -> Self::Future<R>;
}

/// Models, tools and approver are `Send + Sync`, their futures `Send`: drivers can be spawned on any executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {}

/// Models, tools and approver may hold `Rc`s and stay on one thread, as in a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Local {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Shared {}
    impl Sealed for super::Local {}
}

impl Flavour for Shared {
    type Future<R: 'static> = Pin<Box<dyn Future<Output = R> + Send>>;
    type Stream = Pin<Box<dyn Stream<Item = ModelItem> + Send>>;
    type Function<A: 'static, R: 'static> = Arc<dyn Fn(A) -> R + Send + Sync>;

    fn call<A: 'static, R: 'static>(function: &Self::Function<A, R>, argument: A) -> R {
        function(argument)
    }

    fn ready<R: Send + 'static>(value: R) -> Self::Future<R> {
        Box::pin(std::future::ready(value))
    }
}

impl Flavour for Local {
    type Future<R: 'static> = Pin<Box<dyn Future<Output = R>>>;
    type Stream = Pin<Box<dyn Stream<Item = ModelItem>>>;
    type Function<A: 'static, R: 'static> = Rc<dyn Fn(A) -> R>;

    fn call<A: 'static, R: 'static>(function: &Self::Function<A, R>, argument: A) -> R {
        function(argument)
    }

    fn ready<R: Send + 'static>(value: R) -> Self::Future<R> {
        Box::pin(std::future::ready(value))
    }
}
