// Package cloudauth turns cloud credentials into what the cloud's registries
// and buckets accept: signed requests and registry passwords on AWS, access
// tokens on Google Cloud, and the token exchange that Azure requires.
// Credentials come with the repository, otherwise from the hub's own role in
// its environment: on AWS by the SDK's providers for variables, web identity,
// pod identity and instance metadata, on Google Cloud the metadata server,
// workload identity on Azure.
//
// It keeps tokens in memory until five minutes before they end. It does not
// support the instance metadata of Azure, the credential files of command-line
// tools, or Google's federation with other clouds.
//
// Invariants: the hub's own role is used only where HubIdentity allows it; its
// credentials are sent only over https to hosts of the service that they are
// for, whatever URL, region or endpoint a repository has, and never through a
// repository's proxy or with a repository's certificate authority; token
// services are called by the repository's wire.Client; metadata services are
// called directly, without a proxy or a redirect; no error holds a secret.
package cloudauth
