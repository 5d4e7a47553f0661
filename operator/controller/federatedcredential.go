package controller

import (
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/sdk/declare"
)

func federatedCredentials() kind {
	return kind{
		name: "FederatedCredential", protection: "federatedcredential", object: &v1alpha1.FederatedCredential{}, list: &v1alpha1.FederatedCredentialList{}, hub: declared{Kind: declare.FederatedCredentials},
	}
}
