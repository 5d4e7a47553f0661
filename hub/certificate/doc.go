// Package certificate provides the certificate of the hub's listener: from two
// files that somebody else renews, or from a small authority of the hub's own.
//
// Publish writes the authority's certificate to a ConfigMap of the hub's own cluster.
//
// It opens no listener and knows no clients. hub calls it, once at the start; the
// source that it returns is asked for every connection.
//
// Invariants: the authority lives 10 years, because agents pin it, and is never
// replaced by itself. Its certificates live 90 days and are replaced 30 days before
// their end. Files are read again when they changed, looked at once a minute; the
// last pair that could be read stays in use.
package certificate
