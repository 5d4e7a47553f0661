package manifest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk/manifest"
)

// source is a source of Flux with a Secret for each of its references.
func source(version, kind, spec string) string {
	return "\n---\napiVersion: source.toolkit.fluxcd.io/" + version + "\nkind: " + kind + "\nmetadata: {name: podinfo, namespace: apps}\nspec: " + spec
}

const service = "apiVersion: deployments.plural.sh/v1alpha1\nkind: ServiceDeployment\nmetadata: {name: podinfo, namespace: apps}\nspec: "

// The sources of Flux that a service names become repositories; the others are nothing.
func TestSourcesOfFlux(t *testing.T) {
	items, err := read(t, service+"{cluster: edge-1, helm: {repository: {name: podinfo, namespace: apps}, chart: podinfo, version: 6.x}}"+
		// As in flux2-kustomize-helm-example, and as older trees have it.
		source("v1", "HelmRepository", "{interval: 5m, url: 'https://stefanprodan.github.io/podinfo'}")+
		source("v1beta2", "Bucket", "{interval: 5m, bucketName: unused, endpoint: minio.example}"))
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 2 || items[0].Name != "helmrepository.apps.podinfo" {
		t.Fatalf("items: %+v", items)
	}
	want := &hubv1.CreateRepositoryRequest{Name: "helmrepository.apps.podinfo", Type: "helm", Url: "https://stefanprodan.github.io/podinfo", Auth: "none", Options: &hubv1.RepositoryOptions{}}
	if diff := cmp.Diff(want, items[0].Request, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"source.spec.interval"}, items[0].NotActing); diff != "" {
		t.Error(diff)
	}
	if name := items[1].Service.GetSpec().GetHelm().GetRepository(); name != want.GetName() {
		t.Errorf("the chart is of %q", name)
	}
}

// What a service follows by default, and what a Repository of ours is for.
func TestSourceRef(t *testing.T) {
	for _, tt := range []struct{ kind, source, service, ref, repository, wrong string }{
		{"GitRepository", "{url: 'https://git.example/x'}", "git: {folder: web}", "master", "gitrepository.apps.podinfo", ""},
		{"GitRepository", "{url: 'https://git.example/x', ref: {branch: main}}", "git: {folder: web}", "main", "gitrepository.apps.podinfo", ""},
		{"GitRepository", "{url: 'https://git.example/x', ref: {branch: main, tag: v1}}", "git: {folder: web}", "v1", "gitrepository.apps.podinfo", ""},
		{"GitRepository", "{url: 'https://git.example/x', ref: {tag: v1, name: refs/heads/x}}", "git: {folder: web}", "refs/heads/x", "gitrepository.apps.podinfo", ""},
		{"GitRepository", "{url: 'https://git.example/x', ref: {name: refs/heads/x, commit: abc}}", "git: {folder: web}", "abc", "gitrepository.apps.podinfo", ""},
		{"GitRepository", "{url: 'https://git.example/x', ref: {branch: main}}", "git: {folder: web, ref: v2}", "v2", "gitrepository.apps.podinfo", ""},
		{"GitRepository", "{url: 'https://git.example/x', ref: {semver: 1.x}}", "git: {folder: web}", "", "", "follows no range of Git tags"},
		{"OCIRepository", "{url: 'oci://ghcr.io/x/y'}", "git: {}", "latest", "ocirepository.apps.podinfo", ""},
		{"OCIRepository", "{url: 'oci://ghcr.io/x/y', ref: {tag: v1, semver: 1.x}}", "git: {}", "1.x", "ocirepository.apps.podinfo", ""},
		{"OCIRepository", "{url: 'oci://ghcr.io/x/y', ref: {tag: v1, digest: 'sha256:1'}}", "git: {}", "sha256:1", "ocirepository.apps.podinfo", ""},
		{"HelmRepository", "{url: 'https://charts.example'}", "git: {}", "", "", "set helm.chart"},
		{"Bucket", "{bucketName: b, endpoint: x}", "repositoryRef: {name: other}", "", "bucket.apps.podinfo", ""}, // the API server refuses both
	} {
		items, err := read(t, service+"{cluster: edge-1, sourceRef: {kind: "+tt.kind+", name: podinfo}, "+tt.service+"}"+source("v1", tt.kind, tt.source))
		if tt.wrong != "" {
			if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: %v, want %s", tt.source, err, tt.wrong)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", tt.source, err)
		}
		spec := items[len(items)-1].Service.GetSpec()
		if spec.GetRepository() != tt.repository || spec.GetGit().GetRef() != tt.ref {
			t.Errorf("%s: repository %q at %q", tt.source, spec.GetRepository(), spec.GetGit().GetRef())
		}
	}
	items, err := read(t, service+"{cluster: edge-1, sourceRef: {kind: GitRepository, name: podinfo}, git: {folder: web}}"+source("v1", "GitRepository", "{url: 'https://git.example/x', recurseSubmodules: true}")+
		"\n---\napiVersion: axle-cd.github.io/v1alpha1\nkind: Repository\nmetadata: {name: mine, namespace: apps}\nspec: {project: shop, sourceRef: {kind: GitRepository, name: podinfo}}")
	if err != nil || len(items) != 2 || items[0].Name != "mine" || items[0].Request.(*hubv1.CreateRepositoryRequest).GetProject() != "shop" ||
		items[1].Service.GetSpec().GetRepository() != "mine" || !items[1].Service.GetSpec().GetGit().GetSubmodules() {
		t.Errorf("%+v, %v", items, err)
	}
	if _, err := read(t, service+"{cluster: edge-1, sourceRef: {kind: GitRepository, name: absent}}"); err == nil || !strings.Contains(err.Error(), "GitRepository apps/absent of Flux is not among the files") {
		t.Error(err)
	}
}

// Each way of Flux to log in, with the keys of its Secrets.
func TestLoginOfSources(t *testing.T) {
	for _, tt := range []struct {
		kind, spec string
		want       *hubv1.CreateRepositoryRequest
		wrong      string
	}{
		{"GitRepository", "{url: 'https://git.example/x', secretRef: {name: basic}, proxySecretRef: {name: proxy}}", &hubv1.CreateRepositoryRequest{
			Type: "git", Url: "https://git.example/x", Auth: "basic", Options: &hubv1.RepositoryOptions{Proxy: "http://proxy.example:3128"},
			Credentials: &hubv1.RepositoryCredentials{Username: "u", Password: "p", CaPem: "ca", ProxyUsername: "pu", ProxyPassword: "pp"}}, ""},
		{"GitRepository", "{url: 'https://git.example/x', secretRef: {name: bearer}}", &hubv1.CreateRepositoryRequest{
			Type: "git", Url: "https://git.example/x", Auth: "token", Options: &hubv1.RepositoryOptions{}, Credentials: &hubv1.RepositoryCredentials{Password: "t"}}, ""},
		{"GitRepository", "{url: 'ssh://git@git.example/x', secretRef: {name: ssh}, verify: {mode: HEAD, secretRef: {name: keys}}}", &hubv1.CreateRepositoryRequest{
			Type: "git", Url: "ssh://git@git.example/x", Auth: "ssh", Options: &hubv1.RepositoryOptions{Verify: &hubv1.Verification{Mode: "head", Keys: []string{"k1", "k2"}}},
			Credentials: &hubv1.RepositoryCredentials{PrivateKey: "id", KnownHosts: "hosts", Passphrase: "phrase"}}, ""},
		{"GitRepository", "{url: 'https://github.com/x/y', provider: github, secretRef: {name: app}}", &hubv1.CreateRepositoryRequest{
			Type: "git", Url: "https://github.com/x/y", Auth: "app", Options: &hubv1.RepositoryOptions{ApiUrl: "https://ghe.example/api/v3"},
			Credentials: &hubv1.RepositoryCredentials{AppId: "1", InstallationId: "2", PrivateKey: "pem"}}, ""},
		{"GitRepository", "{url: 'https://dev.azure.com/x', provider: azure}", nil, "no identity of a cloud for Git"},
		{"GitRepository", "{url: 'https://git.example/x', verify: {mode: TagAndHEAD, secretRef: {name: keys}}}", nil, "does not verify TagAndHEAD"},
		{"HelmRepository", "{url: 'https://charts.example', secretRef: {name: legacy}, certSecretRef: {name: tls}, passCredentials: true}", &hubv1.CreateRepositoryRequest{
			Type: "helm", Url: "https://charts.example", Auth: "basic", Options: &hubv1.RepositoryOptions{PassCredentials: true},
			Credentials: &hubv1.RepositoryCredentials{Username: "u", Password: "p", CaPem: "ca2", ClientCertificate: "crt", ClientKey: "key"}}, ""},
		{"HelmRepository", "{type: oci, url: 'oci://ghcr.io/x', secretRef: {name: docker}, insecure: true}", &hubv1.CreateRepositoryRequest{
			Type: "oci", Url: "oci://ghcr.io/x", Auth: "basic", Options: &hubv1.RepositoryOptions{PlainHttp: true}, Credentials: &hubv1.RepositoryCredentials{Username: "u", Password: "p:q"}}, ""},
		{"OCIRepository", "{url: 'oci://other.example/x', secretRef: {name: docker}}", nil, "has no login for other.example"},
		{"OCIRepository", "{url: 'oci://docker.io/x/y', secretRef: {name: docker}, verify: {provider: cosign, secretRef: {name: keys}}}", &hubv1.CreateRepositoryRequest{
			Type: "oci", Url: "oci://docker.io/x/y", Auth: "basic", Options: &hubv1.RepositoryOptions{Verify: &hubv1.Verification{Mode: "cosign", Keys: []string{"k1", "k2"}}},
			Credentials: &hubv1.RepositoryCredentials{Username: "hub", Password: "hp"}}, ""},
		{"OCIRepository", "{url: 'oci://x.azurecr.io/y', provider: azure}", &hubv1.CreateRepositoryRequest{
			Type: "oci", Url: "oci://x.azurecr.io/y", Auth: "azure", Options: &hubv1.RepositoryOptions{HubIdentity: true}}, ""},
		{"OCIRepository", "{url: 'oci://ghcr.io/x', verify: {provider: cosign}}", nil, "verifies no keyless signatures"},
		{"OCIRepository", "{url: 'oci://ghcr.io/x', verify: {provider: notation, secretRef: {name: keys}}}", nil, "does not verify notation"},
		{"Bucket", "{bucketName: b, endpoint: minio.example, region: eu, insecure: true, secretRef: {name: keysofbucket}}", &hubv1.CreateRepositoryRequest{
			Type: "bucket", Url: "s3://b", Auth: "aws", Options: &hubv1.RepositoryOptions{Endpoint: "http://minio.example", Region: "eu"},
			Credentials: &hubv1.RepositoryCredentials{AccessKeyId: "ak", SecretAccessKey: "sk"}}, ""},
		{"Bucket", "{provider: aws, bucketName: b, endpoint: s3.amazonaws.com, region: eu-west-1}", &hubv1.CreateRepositoryRequest{
			Type: "bucket", Url: "s3://b", Auth: "aws", Options: &hubv1.RepositoryOptions{Region: "eu-west-1", HubIdentity: true}}, ""},
		{"Bucket", "{provider: gcp, bucketName: b, endpoint: storage.googleapis.com, secretRef: {name: gcp}}", &hubv1.CreateRepositoryRequest{
			Type: "bucket", Url: "gs://b", Auth: "gcp", Options: &hubv1.RepositoryOptions{}, Credentials: &hubv1.RepositoryCredentials{ServiceAccountJson: "{}"}}, ""},
		{"Bucket", "{provider: azure, bucketName: b, endpoint: 'https://acct.blob.core.windows.net', secretRef: {name: sas}}", nil, "has no clientSecret"},
	} {
		items, err := read(t, "apiVersion: axle-cd.github.io/v1alpha1\nkind: Repository\nmetadata: {name: r, namespace: apps}\nspec: {sourceRef: {kind: "+tt.kind+", name: podinfo}}"+source("v1", tt.kind, tt.spec)+secretsOfFlux)
		if tt.wrong != "" {
			if !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s %s: %v, want %s", tt.kind, tt.spec, err, tt.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", tt.kind, tt.spec, err)
			continue
		}
		tt.want.Name = "r"
		if diff := cmp.Diff(tt.want, items[0].Request, protocmp.Transform()); diff != "" {
			t.Errorf("%s %s:\n%s", tt.kind, tt.spec, diff)
		}
	}
}

const secretsOfFlux = `
---
{apiVersion: v1, kind: Secret, metadata: {name: basic, namespace: apps}, stringData: {username: u, password: p, ca.crt: ca}}
---
{apiVersion: v1, kind: Secret, metadata: {name: bearer, namespace: apps}, stringData: {bearerToken: t}}
---
{apiVersion: v1, kind: Secret, metadata: {name: ssh, namespace: apps}, stringData: {identity: id, identity.pub: pub, known_hosts: hosts, password: phrase}}
---
{apiVersion: v1, kind: Secret, metadata: {name: proxy, namespace: apps}, stringData: {address: 'http://proxy.example:3128', username: pu, password: pp}}
---
{apiVersion: v1, kind: Secret, metadata: {name: app, namespace: apps}, stringData: {githubAppID: "1", githubAppInstallationID: "2", githubAppPrivateKey: pem, githubAppBaseURL: 'https://ghe.example/api/v3'}}
---
{apiVersion: v1, kind: Secret, metadata: {name: keys, namespace: apps}, stringData: {a.asc: k1, b.pub: k2}}
---
{apiVersion: v1, kind: Secret, metadata: {name: legacy, namespace: apps}, stringData: {username: u, password: p, caFile: ca1}}
---
{apiVersion: v1, kind: Secret, metadata: {name: tls, namespace: apps}, stringData: {tls.crt: crt, tls.key: key, ca.crt: ca2}}
---
{apiVersion: v1, kind: Secret, metadata: {name: docker, namespace: apps}, stringData: {.dockerconfigjson: '{"auths":{"ghcr.io":{"auth":"dTpwOnE="},"https://index.docker.io/v1/":{"username":"hub","password":"hp"}}}'}}
---
{apiVersion: v1, kind: Secret, metadata: {name: keysofbucket, namespace: apps}, stringData: {accesskey: ak, secretkey: sk}}
---
{apiVersion: v1, kind: Secret, metadata: {name: gcp, namespace: apps}, stringData: {serviceaccount: '{}'}}
---
{apiVersion: v1, kind: Secret, metadata: {name: sas, namespace: apps}, stringData: {sasKey: x}}
`

// No bytes of a source make the reading fail in another way than by an error.
func FuzzReadFlux(f *testing.F) {
	f.Add([]byte(`{"kind":"Bucket","metadata":{"name":"b","namespace":"n"},"spec":{"bucketName":"b","endpoint":"e","provider":"azure"}}`))
	f.Add([]byte(`{"kind":"GitRepository","spec":{"url":"ssh://x","ref":{"semver":"1.x"},"verify":{}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := manifest.ReadFlux(text, "fuzz")
		if err != nil && !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%v", err)
		}
		if s != nil {
			s.Secrets()
		}
	})
}
