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
// Invariants: the hub's own role is used only where HubIdentity says so, and
// what it gives is sent only over https to hosts of the service that it is for,
// whatever URL, region or endpoint a repository has, never through a proxy or by
// an authority of the repository's; the metadata services are asked directly; no
// error holds a secret.
package cloudauth
