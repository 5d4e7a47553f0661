package kubelet

import "testing"

func TestRewriteOfMountPaths(t *testing.T) {
	mounts := []mount{
		{source: "/host/a", target: "/etc/app"},
		{source: "/host/b", target: "/etc/app/tls"},
		{source: "/host/agent", target: binDir + "/agent"},
	}
	for name, test := range map[string]struct{ text, want string }{
		"alone":                      {"/etc/app", "/host/a"},
		"a file below":               {"/etc/app/x.yaml", "/host/a/x.yaml"},
		"the inner mount wins":       {"/etc/app/tls/ca.pem", "/host/b/ca.pem"},
		"behind a flag":              {"--dir=/etc/app", "--dir=/host/a"},
		"several in a list":          {"/etc/app:/etc/app/tls", "/host/a:/host/b"},
		"a longer name is another":   {"/etc/apple", "/etc/apple"},
		"inside a path is another":   {"/opt/etc/app", "/opt/etc/app"},
		"binaries are not rewritten": {"/usr/local/bin/agent", "/usr/local/bin/agent"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rewrite(test.text, mounts); got != test.want {
				t.Errorf("rewrite(%q) = %q, want %q", test.text, got, test.want)
			}
		})
	}
}
