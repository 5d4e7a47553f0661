package cloudauth

import "testing"

// TestHostsOfServices checks which names belong to a service: clouds also run
// their customers' code under names in their domains.
func TestHostsOfServices(t *testing.T) {
	t.Parallel()
	registries := hosts(func(host string) bool { _, ok := registryOf(host); return ok })
	tests := map[string]struct {
		is        hosts
		good, bad []string
	}{
		"s3": {awsService("s3"),
			[]string{"s3.amazonaws.com", "acme.s3.amazonaws.com", "s3.eu-central-1.amazonaws.com", "a.b.s3.eu-central-1.amazonaws.com", "s3.dualstack.eu-central-1.amazonaws.com",
				"s3-fips.us-gov-west-1.amazonaws.com", "acme.s3.cn-north-1.amazonaws.com.cn", "s3.us-iso-east-1.c2s.ic.gov", "s3.eusc-de-east-1.amazonaws.eu"},
			[]string{"amazonaws.com", "abc.execute-api.eu-central-1.amazonaws.com", "ec2-1-2-3-4.eu-central-1.compute.amazonaws.com", "s3.eu-central-1.elb.amazonaws.com",
				"s3.eu-central-1.evil.com", "evil-s3.eu-central-1.amazonaws.com", "acme.s3-website-us-east-1.amazonaws.com", "s3.x.amazonaws.com", "s3.amazonaws.com.cn"}},
		"secrets": {awsService("secretsmanager"), []string{"secretsmanager.eu-central-1.amazonaws.com", "secretsmanager.eu-central-1.api.aws"},
			[]string{"x.secretsmanager.eu-central-1.amazonaws.com", "secretsmanager.amazonaws.com", "s3.eu-central-1.amazonaws.com"}},
		"ecr": {awsService("api.ecr"), []string{"api.ecr.eu-central-1.amazonaws.com", "api.ecr-fips.us-east-1.amazonaws.com"}, []string{"x.ecr.eu-central-1.amazonaws.com", "vpce-1.api.ecr.eu-central-1.vpce.amazonaws.com"}},
		"registries": {registries,
			[]string{"123456789012.dkr.ecr.eu-central-1.amazonaws.com", "123456789012.dkr.ecr-fips.us-gov-west-1.amazonaws.com", "123456789012.dkr-ecr.eu-central-1.on.aws", "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn"},
			[]string{"abc.lambda-url.eu-central-1.on.aws", "123456789012.dkr.ecr.eu-central-1.evil.com", "123456789012.dkr.ecr.eu-central-1.on.aws", "123456789012.dkr.ecr.x.amazonaws.com", "12.dkr.ecr.eu-central-1.amazonaws.com"}},
		"google": {googleHosts, []string{"gcr.io", "eu.gcr.io", "europe-docker.pkg.dev", "storage.googleapis.com", "acme.storage.googleapis.com"}, []string{"evilgcr.io", "gcr.io.evil.com", "acme.run.app", "acme.cloudfunctions.net"}},
		"acr":    {azureRegistries, []string{"acme.azurecr.io"}, []string{"azurecr.io.evil.com", "acme.azurewebsites.net"}},
		"blob":   {azureStorage, []string{"acme.blob.core.windows.net"}, []string{"acme.web.core.windows.net", "blob.core.windows.net.evil.com"}},
		"entra":  {azureAuthorities, []string{"login.microsoftonline.com"}, []string{"evil.login.microsoftonline.com", "login.microsoftonline.com.evil.com"}},
	}
	for name, tt := range tests {
		for _, host := range tt.good {
			if !tt.is(host) {
				t.Errorf("%s: %s is refused", name, host)
			}
		}
		for _, host := range tt.bad {
			if tt.is(host) {
				t.Errorf("%s: %s is let through", name, host)
			}
		}
	}
	for _, region := range []string{"x@evil.com/#", "eu-central-1.evil.com", "eu-central-1/", "", "EU-central-1", "s3"} {
		if raw, err := serviceURL("sts", region); err == nil {
			t.Errorf("region %q makes %s", region, raw)
		}
	}
}
