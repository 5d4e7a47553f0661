package controller

import (
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk/manifest"
)

// helmRepositories are repositories of the hub too, with the calls of GitRepository.
func helmRepositories() kind {
	return kind{
		name: "HelmRepository", protection: "helmrepository", object: &v1alpha1.HelmRepository{}, list: &v1alpha1.HelmRepositoryList{}, hub: described("HelmRepository", showRepository),
		references: func(o client.Object) []reference.Reference {
			var refs []reference.Reference
			secrets := manifest.SecretsOf(o.(*v1alpha1.HelmRepository))
			for _, field := range slices.Sorted(maps.Keys(secrets)) {
				ref := secrets[field]
				refs = append(refs, reference.ToSecret(field, &ref, o.GetNamespace())...)
			}
			return refs
		},
		refersTo: []string{reference.Secret},
	}
}
