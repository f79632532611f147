use crate::hub::Hub;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;

/// What every clone of an endpoint, every client, call and request holds: when the last goes, the endpoint closes.
pub(crate) struct Handle {
    hub: Arc<Hub>,
    local_addr: SocketAddr,
}

impl Handle {
    pub(crate) fn new(hub: Arc<Hub>) -> Self {
        let local_addr = hub.lock().local_addr();
        Handle { hub, local_addr }
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }
}

impl Deref for Handle {
    type Target = Hub;

    fn deref(&self) -> &Hub {
        &self.hub
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.hub.close();
    }
}
