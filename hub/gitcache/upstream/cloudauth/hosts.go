package cloudauth

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

// partition is one of AWS's clouds that know nothing of each other, as its SDK
// lists them.
type partition struct {
	region *regexp.Regexp
	// domain ends the names of services, dual those that speak IPv6 as well.
	domain, dual string
	// registry ends the names of registries that speak IPv6 as well.
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

// partitionOf is the cloud of a region. A region is a tenant's word and part
// of a host's name, so nothing but one of the cloud's own becomes one.
func partitionOf(name string) (partition, error) {
	for _, p := range partitions {
		if p.region.MatchString(name) {
			return p, nil
		}
	}
	return partition{}, errcode.New(errcode.Invalid, "%.60q is no region of AWS; give one like eu-central-1", name)
}

// serviceURL is where a service of AWS answers in a region.
func serviceURL(service, region string) (string, error) {
	p, err := partitionOf(region)
	return "https://" + service + "." + region + "." + p.domain + "/", err
}

// S3URL is where S3 answers in a region; us-east-1 when it is empty.
func S3URL(region string) (string, error) {
	if region == "" {
		region = defaultRegion
	}
	raw, err := serviceURL("s3", region)
	return strings.TrimSuffix(raw, "/"), err
}

// label is what a store of one's own may call its region.
var label = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,39}$`)

// CheckRegion refuses what is no name of a region, of AWS or of another store
// that speaks S3.
func CheckRegion(name string) error {
	if name != "" && !label.MatchString(name) {
		return errcode.New(errcode.Invalid, "region %.60q is no name of a region; give one like eu-central-1", name)
	}
	return nil
}

// hosts says which hosts of a cloud may be given what the hub's own role
// gives: those of the service alone, since clouds run their customers' code
// under names of their own, too.
type hosts func(host string) bool

// awsService are the hosts of a service: SERVICE.REGION, with what may stand
// before it, such as a bucket.
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

// ends are hosts with these ends, or named exactly where no dot begins it.
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

// mayLeave refuses what the hub's own role gives to a repository that it was
// not given to, on any way but the hub's own, to a host that is not the
// service's, and in the open: all but the first are a tenant's word.
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
		return errcode.New(errcode.Forbidden, "the hub's own identity is not given to %s, which is no host of this service of the cloud; give the repository credentials of its own", to.Host)
	}
	return nil
}
