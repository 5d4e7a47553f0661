package repourl_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/internal/repourl"
)

// same are spellings of one URL each, by kind.
var same = map[string][][]string{
	"git": {
		{
			"https://git.example.com/Team/app", "https://git.example.com/Team/app.git", "https://git.example.com/Team/app/", "https://git.example.com/Team/app.git/",
			"HTTPS://GIT.example.com:443/Team/app", "https://ci@git.example.com/Team/app.git", "https://ci:secret@git.example.com/Team/app", " https://git.example.com/Team/app\n",
			"https://git.example.com:/Team/app", "https://git.example.com/T%65am/app", "https://git.example.com//Team/app",
		},
		{"git@git.example.com:team/app.git", "ssh://git@git.example.com/team/app", "ssh://git.example.com:22/team/app/", "git@GIT.example.com:/team/app", "ssh://git:x@git.example.com/team/app"},
		{"deploy@git.example.com:team/app", "ssh://deploy@git.example.com/team/app.git"},
		{"http://git.example.com/a", "http://git.example.com:80/a/"},
		{"git://git.example.com/a", "git://git.example.com:9418/a.git"},
		{"https://git.example.com:8443/a", "https://GIT.example.com:8443/a.git"},
		{"https://[2001:db8::1]/a", "https://[2001:DB8:0:0:0:0:0:1]:443/a.git"},
		{"git@[2001:db8::1]:a", "ssh://git@[2001:db8::1]/a"},
		{"https://git.example.com/a%20b", "https://git.example.com/a b"},
		{"https://git.example.com/caf%c3%a9", "https://git.example.com/café", "https://git.example.com/caf%C3%A9"},
		{
			"https://contoso@dev.azure.com/contoso/shop/_git/app", "https://dev.azure.com/contoso/shop/_git/app", "https://dev.azure.com/Contoso/shop/_git/app/",
			"https://contoso.visualstudio.com/shop/_git/app", "https://contoso.visualstudio.com/DefaultCollection/shop/_git/app",
		},
		{"https://dev.azure.com/contoso/_git/app", "https://contoso.visualstudio.com/_git/app", "https://contoso@dev.azure.com/contoso/app/_git/app"},
		{"git@ssh.dev.azure.com:v3/contoso/shop/app", "ssh://git@ssh.dev.azure.com/v3/contoso/shop/app"},
		{"https://git.example.com/.git", "https://git.example.com/.git/"},
		{"https://git.example.com/a%2Fb", "https://git.example.com/a%2fb"},
		{"https://git.example.com/a/b"},
		{"https://git.example.com/team/app"},
		{"https://git.example.com/Team/app.git.git"},
		{"https://git.\u212aube.example/a"}, {"https://git.kube.example/a"},
		{"https://visualstudio.com/shop/_git/app"}, {"https://dev.azure.com/contoso/shop/app"},
		{"not a url"}, {""}, {"https://"}, {"git.example.com:team/app"}, {"https://git.example.com/a?x=1"}, {"https://git.example.com/a#x"},
	},
	"helm": {
		{"https://charts.example.com/stable", "https://charts.example.com/stable/", "https://Charts.example.com:443/stable//", "https://ci@charts.example.com/stable"},
		{"https://charts.example.com", "https://charts.example.com/"},
		{"https://charts.example.com/a.git"}, {"https://charts.example.com/a"}, {"http://charts.example.com"},
	},
	"oci": {
		{"oci://ghcr.io/acme/charts", "OCI://GHCR.io/acme/charts/"},
		{"oci://ghcr.io:443/acme/charts"}, {"oci://ghcr.io:5000/acme/charts"},
	},
	"bucket": {
		{"s3://acme", "s3://acme/", "S3://ACME"}, {"s3://acme/prefix"}, {"s3://acme/prefix.git"}, {"gs://acme"}, {"azblob://acme"},
		{"https://s3.eu-central-1.amazonaws.com/acme", "https://s3.eu-central-1.amazonaws.com:443/acme/"},
	},
}

func TestSame(t *testing.T) {
	for kind, groups := range same {
		seen := map[string]string{}
		for _, group := range groups {
			normal := repourl.Normal(kind, group[0])
			if other, found := seen[normal]; found {
				t.Errorf("%s: %q has the normal form %q of %q", kind, group[0], normal, other)
			}
			seen[normal] = group[0]
			for _, spelling := range group {
				if !repourl.Same(kind, group[0], spelling) || !repourl.Same(kind, spelling, group[0]) {
					t.Errorf("%s: %q is %q, and %q is %q", kind, group[0], normal, spelling, repourl.Normal(kind, spelling))
				}
				if strings.Contains(repourl.Normal(kind, spelling), "secret") {
					t.Errorf("%q has a password", repourl.Normal(kind, spelling))
				}
			}
		}
	}
}

func FuzzNormal(f *testing.F) {
	for _, groups := range same {
		for _, group := range groups {
			f.Add(group[0])
		}
	}
	f.Add("ssh://a:b@[::1%25eth0]:/x%")
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []string{"", "git", "helm", "oci", "bucket"} {
			normal := repourl.Normal(kind, text)
			if !repourl.Same(kind, text, " "+text+"\n") {
				t.Errorf("%q differs from itself between blanks", text)
			}
			if again := repourl.Normal("helm", normal); kind != "" && kind != "git" && again != normal {
				t.Errorf("%q became %q, and then %q", text, normal, again)
			}
		}
	})
}
