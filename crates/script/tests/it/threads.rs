//! Script workers that are threads of the test. A thread can't be killed, so that no test here may need that.

use docent_script::{StartWorker, StartedWorker, WorkerExit, WorkerProcess, serve_worker};
use futures::future::BoxFuture;
use std::{
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::atomic::{AtomicUsize, Ordering},
};

/// Starts workers, and counts them.
#[derive(Debug, Default)]
pub(crate) struct Threads(pub(crate) AtomicUsize);

struct Thread(UnixStream);

impl StartWorker for Threads {
    fn start(&self) -> BoxFuture<'_, Result<StartedWorker, String>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let process = Thread(ours.try_clone().unwrap());
            std::thread::spawn(move || serve_worker(&theirs, theirs.try_clone().unwrap(), |_| {}));
            ours.set_nonblocking(true).unwrap();
            let (output, input) = tokio::net::UnixStream::from_std(ours).unwrap().into_split();
            let (input, output) = (Box::new(input), Box::new(output));
            Ok(StartedWorker { input, output, process: Box::new(process) })
        })
    }
}

impl WorkerProcess for Thread {
    fn exit(&self) -> BoxFuture<'_, WorkerExit> {
        Box::pin(async { WorkerExit::Other("its thread ended".to_owned()) })
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { self.0.shutdown(Shutdown::Both).unwrap_or_default() })
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.0.shutdown(Shutdown::Both).unwrap_or_default();
    }
}
