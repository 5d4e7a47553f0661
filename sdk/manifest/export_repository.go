package manifest

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/api/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
)

// Repository exports a repository as a GitRepository or a HelmRepository. Its credentials
// stay in the hub. Unprocessable for one of a type that no kind of files has, a bucket.
func (e Exporter) Repository(r *hubv1.Repository) (Exported, error) {
	var secrets []string
	if hasCredentials(r) {
		secrets = []string{credentials}
	}
	out := Exported{Kind: "GitRepository", Name: r.GetName()}
	declared := []string{}
	meta, err := e.meta(r.GetType() != "git", r.GetName(), secrets)
	if err != nil {
		return out, err
	}
	switch r.GetType() {
	case "git":
		out.Object = &v1alpha1.GitRepository{TypeMeta: typeMeta(out.Kind), ObjectMeta: meta, Spec: v1alpha1.GitRepositorySpec{URL: r.GetUrl()}}
	case "helm", "oci":
		out.Kind, declared = "HelmRepository", []string{"proxy", "hub_identity"}
		if isOCI(r.GetUrl()) != (r.GetType() == "oci") {
			return out, errcode.New(errcode.Unprocessable, "repository %s: a HelmRepository with the URL %s is not of the type %s", r.GetName(), r.GetUrl(), r.GetType())
		}
		out.Object = helmObject(r, meta)
	default:
		return out, errcode.New(errcode.Unprocessable, "repository %s: no kind declares repositories of the type %s in files", r.GetName(), r.GetType())
	}
	if objectName(r.GetName()) != r.GetName() {
		out.Notes = append(out.Notes, "axle apply takes this name, but no cluster has objects with such a name.")
	}
	if ownProject(r.GetProject()) != "" {
		out.Notes = append(out.Notes, fmt.Sprintf("The kind has no field for the project, %s; the hub keeps it.", r.GetProject()))
	}
	return out, out.leaves("options", r.GetOptions(), &hubv1.RepositoryOptions{}, declared)
}

func helmObject(r *hubv1.Repository, meta metav1.ObjectMeta) *v1alpha1.HelmRepository {
	spec := v1alpha1.HelmRepositorySpec{URL: r.GetUrl()}
	auth := v1alpha1.HelmRepositoryAuth{}
	if r.GetOptions().GetHubIdentity() {
		provider := strings.ToUpper(r.GetAuth())
		spec.Provider = &provider
		switch provider {
		case "AWS":
			auth.AWS = &v1alpha1.HelmRepositoryAuthAWS{}
		case "AZURE":
			auth.Azure = &v1alpha1.HelmRepositoryAuthAzure{}
		case "GCP":
			auth.GCP = &v1alpha1.HelmRepositoryAuthGCP{}
		}
	}
	if proxy := r.GetOptions().GetProxy(); proxy != "" {
		auth.Proxy = &v1alpha1.HTTPProxy{URL: proxy}
	}
	if auth != (v1alpha1.HelmRepositoryAuth{}) {
		spec.Auth = &auth
	}
	return &v1alpha1.HelmRepository{TypeMeta: typeMeta("HelmRepository"), ObjectMeta: meta, Spec: spec}
}
