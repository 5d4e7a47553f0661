package repos

import (
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/rule"
)

const repoAddLong = `Register a repository and wait for its first fetch.

The type of source at the URL:
  git     a Git repository, over https or ssh
  helm    a chart repository: an https URL with index.yaml below it
  oci     a repository in a registry, or a path above several: oci://HOST/PATH
  bucket  an object store: s3://BUCKET, gs://BUCKET, azblob://ACCOUNT/CONTAINER
          or the https URL of a bucket

Secrets come from files, never from the command line: every --…-file takes a
path, - for standard input, or env:NAME for an environment variable.
With --auth aws, gcp or azure, --hub-identity uses the hub's own role without keys.`

const repoAddExample = `  axle repos add fleet https://git.example.com/platform/fleet.git
  axle repos add fleet https://git.example.com/platform/fleet.git --username ci --password-file token
  axle repos add fleet ssh://git@git.example.com/platform/fleet.git --ssh-key-file id_ed25519 --known-hosts-file known_hosts
  axle repos add fleet https://github.com/acme/fleet.git --github-app-id 12 --github-app-installation-id 34 --github-app-key-file app.pem
  axle repos add charts https://charts.example.com/stable --type helm --verify provenance --verify-key-file maintainers.asc
  axle repos add apps oci://ghcr.io/acme/charts --type oci --username ci --password-file env:GHCR_TOKEN
  axle repos add apps oci://123456789012.dkr.ecr.eu-central-1.amazonaws.com/charts --type oci --auth aws --hub-identity
  axle repos add signed oci://registry.example.com/team/app --type oci --verify cosign --verify-key-file cosign.pub
  axle repos add files s3://acme-manifests --type bucket --region eu-central-1 --aws-access-key-id AKIA… --aws-secret-access-key-file key`

// repoLogin are the flags for reaching, logging in to and verifying a
// repository. Secrets come from files.
type repoLogin struct {
	credentials hubv1.RepositoryCredentials
	options     hubv1.RepositoryOptions
	auth        string
	files       []secretFile
	verify      string
	verifyFiles []string
}

// secretFile is a flag whose value says where to read a secret.
type secretFile struct {
	flag string
	path *string
	into *string
	// whole is set for files whose last line end belongs to them.
	whole bool
}

func (l *repoLogin) flags(c *cobra.Command) {
	f := c.Flags()
	r, o := &l.credentials, &l.options
	file := func(flag string, into *string, whole bool, usage string) {
		path := new(string)
		f.StringVar(path, flag, "", usage)
		l.files = append(l.files, secretFile{flag, path, into, whole})
	}
	f.StringVar(&l.auth, "auth", "", "none, basic, token, ssh, app, bearer, aws, gcp or azure (default: derived from the credentials)")
	command.Complete(c, "auth", rule.RepositoryAuth...)
	f.StringVar(&r.Username, "username", "", "user name for https; any name if the password is a token")
	file("password-file", &r.Password, false, "file with the password or token; - for standard input, env:NAME for an environment variable")
	file("ssh-key-file", &r.PrivateKey, true, "file with the private key for ssh")
	file("ssh-passphrase-file", &r.Passphrase, false, "file with the passphrase of the ssh key")
	file("known-hosts-file", &r.KnownHosts, true, "file with the server's host keys for ssh")
	file("ca-cert-file", &r.CaPem, true, "file with the server's certificate authority")
	file("client-cert-file", &r.ClientCertificate, true, "file with the client certificate for the server")
	file("client-key-file", &r.ClientKey, true, "file with the key of the client certificate")
	f.StringVar(&r.AppId, "github-app-id", "", "ID of a GitHub App")
	f.StringVar(&r.InstallationId, "github-app-installation-id", "", "ID of the App's installation")
	file("github-app-key-file", &r.PrivateKey, true, "file with the App's private key")
	f.StringVar(&o.ApiUrl, "github-api-url", "", "API URL that issues the App's tokens, for GitHub Enterprise")
	f.StringVar(&r.AccessKeyId, "aws-access-key-id", "", "access key ID for AWS or an S3-compatible store")
	file("aws-secret-access-key-file", &r.SecretAccessKey, false, "file with the secret access key")
	file("aws-session-token-file", &r.SessionToken, false, "file with the session token")
	f.StringVar(&r.AssumeRoleArn, "aws-role-arn", "", "AWS role to assume")
	file("gcp-service-account-file", &r.ServiceAccountJson, true, "file with the JSON key of a service account")
	f.StringVar(&r.TenantId, "azure-tenant-id", "", "tenant of an Azure application")
	f.StringVar(&r.ClientId, "azure-client-id", "", "ID of the Azure application")
	file("azure-client-secret-file", &r.ClientSecret, false, "file with the secret of the Azure application")
	f.StringVar(&o.Proxy, "proxy", "", "proxy for the repository: an http, https or socks5 URL without password (default: the hub's environment)")
	f.StringVar(&r.ProxyUsername, "proxy-username", "", "user name for the proxy")
	file("proxy-password-file", &r.ProxyPassword, false, "file with the password for the proxy")
	f.StringVar(&o.Region, "region", "", "region of a bucket or registry")
	f.StringVar(&o.Endpoint, "endpoint", "", "URL of an object store or of a registry's token service (default: the cloud's own)")
	f.BoolVar(&o.PlainHttp, "plain-http", false, "use http for a registry, if the hub allows it")
	f.BoolVar(&o.PassCredentials, "pass-credentials", false, "also send the credentials to other hosts named in a chart index")
	f.BoolVar(&o.HubIdentity, "hub-identity", false, "use the hub's own cloud role in place of keys (administrators only)")
	f.Int64Var(&o.MaxBytes, "max-bytes", 0, "maximum bytes that the hub keeps of it on disk (default: the hub's limit)")
	f.StringVar(&l.verify, "verify", "", "signature to require: head or tag for git, provenance for helm, cosign or provenance for oci")
	command.Complete(c, "verify", rule.Verifications...)
	f.StringArrayVar(&l.verifyFiles, "verify-key-file", nil, "file with trusted public keys; may be repeated")
}

// repoCredentials returns the given credentials, or nil if none were given.
func repoCredentials(a *command.App, l *repoLogin) (*hubv1.RepositoryCredentials, error) {
	from := map[*string]string{}
	for _, f := range l.files {
		if *f.path == "" {
			continue
		}
		if other := from[f.into]; other != "" {
			return nil, exitcode.Usagef("--%s and --%s cannot be given together", other, f.flag)
		}
		if *f.path == "-" {
			for _, g := range l.files {
				if g.flag != f.flag && *g.path == "-" {
					return nil, exitcode.Usagef("--%s and --%s cannot both read standard input", f.flag, g.flag)
				}
			}
		}
		text, err := a.ReadSecret(f.flag, *f.path, f.whole)
		if err != nil {
			return nil, err
		}
		*f.into, from[f.into] = text, f.flag
	}
	if proto.Size(&l.credentials) == 0 {
		return nil, nil
	}
	return &l.credentials, nil
}

// repoOptions returns the given options, or nil if none were given.
func repoOptions(a *command.App, l *repoLogin) (*hubv1.RepositoryOptions, error) {
	if (l.verify == "") != (len(l.verifyFiles) == 0) && l.verify != "none" {
		return nil, exitcode.Usagef("--verify and --verify-key-file go together")
	}
	if l.verify != "" && l.verify != "none" {
		l.options.Verify = &hubv1.Verification{Mode: l.verify}
		for _, path := range l.verifyFiles {
			text, err := a.ReadSecret("verify-key-file", path, true)
			if err != nil {
				return nil, err
			}
			l.options.Verify.Keys = append(l.options.Verify.Keys, text)
		}
	}
	if proto.Size(&l.options) == 0 && l.verify == "" {
		return nil, nil
	}
	return &l.options, nil
}
