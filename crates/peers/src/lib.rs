//! RPC libraries that homarus is measured against: quinn, tonic, tarpc
