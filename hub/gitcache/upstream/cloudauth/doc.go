// Package cloudauth turns what people have from a cloud into what its
// registries and buckets want: signed requests and registry passwords on AWS,
// access tokens on Google Cloud, and the exchange of tokens that Azure asks
// for. Keys come with the repository, else from the hub's own role as its
// environment tells it: web identity and pod identity on AWS, the metadata
// server on Google Cloud, workload identity on Azure.
//
// It keeps tokens in memory until five minutes before they end. It does not
// cover instance metadata of AWS and Azure, credentials in files of their
// command lines, or Google's federation with other clouds.
//
// Invariants: what the hub's own role gives is sent only to hosts of that
// cloud, whatever URL a repository has; the metadata services are asked
// directly, never through a repository's proxy; no error holds a secret.
package cloudauth
