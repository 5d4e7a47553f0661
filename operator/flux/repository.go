package flux

import (
	"cmp"
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	axlev1alpha1 "github.com/axle-cd/axle/api/axle/v1alpha1"
	"github.com/axle-cd/axle/api/kinds"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/operator/reference"
	"github.com/axle-cd/axle/sdk/manifest"
)

// MadeFor labels a Repository that the operator made for a source. It goes when nobody
// names the source any more.
const MadeFor = kinds.Axle + "/made-for-source"

// Repository returns the name in the hub of the Repository of a source, and makes one if
// there is none. One that somebody wrote wins over the operator's. index is that of
// Repositories by the key of their source. errcode.NotFound while it is not in the hub.
func Repository(ctx context.Context, cluster client.Client, index string, ref reference.Reference, s *manifest.FluxSource) (string, error) {
	var all axlev1alpha1.RepositoryList
	if err := cluster.List(ctx, &all, client.InNamespace(ref.At.Namespace), client.MatchingFields{index: ref.Key()}); err != nil {
		return "", err
	}
	if len(all.Items) == 0 {
		return "", makeRepository(ctx, cluster, ref, s)
	}
	of := slices.MinFunc(all.Items, func(a, b axlev1alpha1.Repository) int {
		return cmp.Or(cmp.Compare(a.Labels[MadeFor], b.Labels[MadeFor]), cmp.Compare(a.Name, b.Name))
	})
	if !of.DeletionTimestamp.IsZero() || of.Status.ID == nil || of.Status.Readonly {
		return "", errcode.New(errcode.NotFound, "Repository %s/%s, which stands for %s, is not in the hub: the reason is in its conditions", of.Namespace, of.Name, ref.Field)
	}
	if of.Spec.Name != nil {
		return *of.Spec.Name, nil
	}
	return of.Name, nil
}

func makeRepository(ctx context.Context, cluster client.Client, ref reference.Reference, s *manifest.FluxSource) error {
	var project *string
	if s.Project != "" {
		project = &s.Project
	}
	made := &axlev1alpha1.Repository{
		ObjectMeta: metav1.ObjectMeta{Namespace: ref.At.Namespace, Name: strings.ToLower(ref.Kind) + "." + ref.At.Name, Labels: map[string]string{MadeFor: "true"}},
		Spec:       axlev1alpha1.RepositorySpec{Name: &s.Repository, Project: project, SourceRef: &axlev1alpha1.LocalFluxSource{Kind: ref.Kind, Name: ref.At.Name}},
	}
	err := cluster.Create(ctx, made)
	switch {
	case apierrors.IsAlreadyExists(err):
		err = nil // the cache has not seen it yet, or it stands for something else
	case apierrors.IsForbidden(err):
		return errcode.New(errcode.Forbidden, "the operator may not create a Repository for %s: apply deploy/operator/rbac.yaml of this version (%w)", ref.Field, err)
	}
	if err != nil {
		return err
	}
	return errcode.New(errcode.NotFound, "Repository %s/%s, which stands for %s, is not in the hub yet: the reason is in its conditions", made.Namespace, made.Name, ref.Field)
}
