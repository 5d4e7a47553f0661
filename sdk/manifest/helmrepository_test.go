package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

func TestHelmRepositories(t *testing.T) {
	const head = "apiVersion: deployments.plural.sh/v1alpha1\nkind: HelmRepository\nmetadata: {name: charts, namespace: platform}\nspec: {url: 'https://charts.example', "
	const one = "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: platform}\nstringData: {only: hidden}\n"
	const two = "\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: login, namespace: platform}\nstringData: {token: hidden, other: x}\n"
	own := &hubv1.RepositoryOptions{HubIdentity: true}
	for name, c := range map[string]struct {
		text string
		want *hubv1.CreateRepositoryRequest
	}{
		"without a login": {head + "}", &hubv1.CreateRepositoryRequest{}},
		"basic":           {head + "provider: BASIC, auth: {basic: {username: a, passwordSecretKeyRef: {name: login, key: only}}}}" + one, &hubv1.CreateRepositoryRequest{Auth: "basic", Credentials: &hubv1.RepositoryCredentials{Username: "a", Password: "hidden"}}},
		"no provider":     {head + "auth: {bearer: {tokenSecretRef: {name: login}}}}" + one, &hubv1.CreateRepositoryRequest{Auth: "bearer", Credentials: &hubv1.RepositoryCredentials{Password: "hidden"}}},
		"the usual key":   {head + "provider: BEARER, auth: {bearer: {tokenSecretRef: {name: login}}}}" + two, &hubv1.CreateRepositoryRequest{Auth: "bearer", Credentials: &hubv1.RepositoryCredentials{Password: "hidden"}}},
		"keys of AWS": {head + "provider: AWS, auth: {aws: {accessKey: AKIA, assumeRoleArn: role, secretAccessKeySecretRef: {name: login, namespace: platform}}}}" + one,
			&hubv1.CreateRepositoryRequest{Auth: "aws", Credentials: &hubv1.RepositoryCredentials{AccessKeyId: "AKIA", AssumeRoleArn: "role", SecretAccessKey: "hidden"}, Options: &hubv1.RepositoryOptions{}}},
		"the hub's role at AWS": {head + "provider: AWS, auth: {}}", &hubv1.CreateRepositoryRequest{Auth: "aws", Credentials: &hubv1.RepositoryCredentials{}, Options: own}},
		"the hub's at Azure":    {head + "provider: AZURE, auth: {azure: {}}}", &hubv1.CreateRepositoryRequest{Auth: "azure", Credentials: &hubv1.RepositoryCredentials{}, Options: own}},
		"a key of Google": {head + "provider: GCP, auth: {gcp: {applicationCredentialsSecretRef: {name: login}}}}" + one,
			&hubv1.CreateRepositoryRequest{Auth: "gcp", Credentials: &hubv1.RepositoryCredentials{ServiceAccountJson: "hidden"}, Options: &hubv1.RepositoryOptions{}}},
	} {
		c.want.Name, c.want.Type, c.want.Url = "charts", "helm", "https://charts.example"
		items, err := read(t, c.text)
		if err != nil || len(items) != 1 {
			t.Errorf("%s: %v, %v", name, items, err)
			continue
		}
		if diff := cmp.Diff(c.want, items[0].Request, protocmp.Transform()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for name, text := range map[string]string{
		"another field than the provider's": head + "provider: BASIC, auth: {bearer: {tokenSecretRef: {name: login}}}}" + one,
		"a Secret that is not there":        head + "provider: BEARER, auth: {bearer: {tokenSecretRef: {name: login}}}}",
		"a key that is not there":           head + "provider: BEARER, auth: {bearer: {tokenSecretKeyRef: {name: login, key: token}}}}" + one,
	} {
		if items, err := read(t, text); err == nil {
			t.Errorf("%s: %v", name, items)
		}
	}
}
