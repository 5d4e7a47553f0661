package cloudauth

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

// partition is one of AWS's separate clouds, as its SDK lists them.
type partition struct {
	region *regexp.Regexp
	// domain is the suffix of service names, dual that of dual-stack ones.
	domain, dual string
	// registry is the suffix of dual-stack registries.
	registry string
}

var partitions = []partition{
	{region("cn-[a-z]+"), "amazonaws.com.cn", "api.amazonwebservices.com.cn", "on.amazonwebservices.com.cn"},
	{region("us-iso-[a-z]+"), "c2s.ic.gov", "", ""},
	{region("us-isob-[a-z]+"), "sc2s.sgov.gov", "", ""},
	{region("us-isof-[a-z]+"), "csp.hci.ic.gov", "", ""},
	{region("eu-isoe-[a-z]+"), "cloud.adc-e.uk", "", ""},
	{region("eusc-[a-z]{2}-[a-z]+"), "amazonaws.eu", "api.amazonwebservices.eu", "on.amazonwebservices.eu"},
	{region("[a-z]{2}(?:-gov)?-[a-z]+"), "amazonaws.com", "api.aws", "on.aws"},
}

func region(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`^` + pattern + `-[0-9]{1,2}$`)
}

// partitionOf returns the partition of a region. A region is tenant input and
// becomes part of a host name, so only a region of that partition is accepted.
func partitionOf(name string) (partition, error) {
	for _, p := range partitions {
		if p.region.MatchString(name) {
			return p, nil
		}
	}
	return partition{}, errcode.New(errcode.Invalid, "%.60q is not a region of AWS; give one like eu-central-1", name)
}

// serviceURL returns the URL of an AWS service in a region.
func serviceURL(service, region string) (string, error) {
	p, err := partitionOf(region)
	return "https://" + service + "." + region + "." + p.domain + "/", err
}

// S3URL returns the URL of S3 in a region; an empty region is us-east-1.
func S3URL(region string) (string, error) {
	if region == "" {
		region = defaultRegion
	}
	raw, err := serviceURL("s3", region)
	return strings.TrimSuffix(raw, "/"), err
}

// label matches region names of other S3-compatible stores.
var label = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,39}$`)

// CheckRegion refuses what is not a valid region name, of AWS or of another
// S3-compatible store.
func CheckRegion(name string) error {
	if name != "" && !label.MatchString(name) {
		return errcode.New(errcode.Invalid, "region %.60q is not a valid region name; give one like eu-central-1", name)
	}
	return nil
}

// hosts reports whether a host may receive the hub's own credentials. It
// accepts only the hosts of the service itself, because clouds also run their
// customers' code under names in their domains.
type hosts func(host string) bool

// awsService returns the hosts of a service: SERVICE.REGION, with an optional
// prefix such as a bucket.
func awsService(name string) hosts {
	return func(host string) bool {
		for _, p := range partitions {
			for _, domain := range []string{p.domain, p.dual} {
				front, ok := strings.CutSuffix(host, "."+domain)
				if !ok || domain == "" {
					continue
				}
				labels := strings.Split(front, ".")
				if n := len(labels) - 1; p.region.MatchString(labels[n]) {
					labels = labels[:n]
				} else if name != "s3" || p.domain != "amazonaws.com" {
					continue // only S3 has names without a region
				}
				if n := len(labels) - 1; n > 0 && labels[n] == "dualstack" {
					labels = labels[:n]
				}
				front = strings.TrimSuffix(strings.Join(labels, "."), "-fips")
				if front == name || name == "s3" && strings.HasSuffix(front, ".s3") {
					return true
				}
			}
		}
		return false
	}
}

// registryOf returns the region of a private registry of AWS.
func registryOf(host string) (region string, ok bool) {
	m := ecr.FindStringSubmatch(host)
	if m == nil {
		return "", false
	}
	for _, p := range partitions {
		if p.region.MatchString(m[2]) {
			return m[2], m[1] == "." && m[3] == p.domain || m[1] == "-" && m[3] == p.registry && m[3] != ""
		}
	}
	return "", false
}

// ecr is the host of a private registry: account, dkr, ecr, region, domain.
var ecr = regexp.MustCompile(`^\d{12}\.dkr([.-])ecr(?:-fips)?\.([a-z0-9-]+)\.(.+)$`)

// ends accepts hosts with these suffixes, or equal to a name that has no
// leading dot.
func ends(names ...string) hosts {
	return func(host string) bool {
		for _, end := range names {
			if host == end || strings.HasPrefix(end, ".") && strings.HasSuffix(host, end) {
				return true
			}
		}
		return false
	}
}

var (
	googleHosts      = ends(".pkg.dev", ".gcr.io", "gcr.io", "storage.googleapis.com", ".storage.googleapis.com", "secretmanager.googleapis.com")
	azureRegistries  = ends(".azurecr.io", ".azurecr.cn", ".azurecr.us")
	azureStorage     = ends(".blob.core.windows.net", ".blob.core.chinacloudapi.cn", ".blob.core.usgovcloudapi.net")
	azureVaults      = ends(".vault.azure.net", ".vault.azure.cn", ".vault.usgovcloudapi.net")
	azureAuthorities = ends("login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn", "login.chinacloudapi.cn")
)

// mayLeave refuses to send the hub's own credentials in four cases: for a
// repository that may not use them, over any other transport than the hub's
// own, to a host that is not the service's, and without TLS. All but the first
// are tenant input.
func (e Environment) mayLeave(given bool, way *wire.Client, to *url.URL, service hosts) error {
	host := strings.ToLower(to.Hostname())
	switch {
	case !given:
		return errcode.New(errcode.Forbidden, "the repository has no credentials of its own, and the hub's own identity was not given to it; give it credentials, or an administrator gives it with: axle repos update NAME --hub-identity")
	case way.Private():
		return errcode.New(errcode.Forbidden, "the hub's own identity goes neither through a proxy nor by an authority or a certificate of a repository; take those from the repository, or give it credentials of its own")
	case e.Own != nil && e.Own(host):
		return nil
	case to.Scheme != "https" || to.Port() != "" && to.Port() != "443" || !service(host):
		return errcode.New(errcode.Forbidden, "the hub's own identity is not given to %s, which is not a host of this cloud service; give the repository credentials of its own", to.Host)
	}
	return nil
}
