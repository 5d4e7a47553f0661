package cloudauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/errcode"
)

// AWS are keys, or none for the hub's own role.
type AWS struct {
	AccessKeyID, SecretAccessKey, SessionToken string
	AssumeRoleARN, Region                      string
	// Endpoint replaces that of ECR's API.
	Endpoint string
	Client   *wire.Client
	Env      Environment

	keys     cell[aws.Credentials]
	password cell[string]
}

// awsHosts end the names of what the hub's own role may talk to.
var awsHosts = []string{".amazonaws.com", ".amazonaws.com.cn", ".api.aws"}

func (a *AWS) own() bool { return a.AccessKeyID == "" }

func (a *AWS) region() string {
	for _, r := range []string{a.Region, a.Env.get("AWS_REGION"), a.Env.get("AWS_DEFAULT_REGION")} {
		if r != "" {
			return r
		}
	}
	return "us-east-1"
}

// credentials are the keys to sign with, of the role that is taken on if there
// is one.
func (a *AWS) credentials(ctx context.Context) (aws.Credentials, error) {
	return a.keys.get(func() (aws.Credentials, time.Time, error) {
		first, until, err := a.first(ctx)
		if err != nil || a.AssumeRoleARN == "" {
			return first, until, err
		}
		return a.assume(ctx, first)
	})
}

// first are the keys of the repository or of the hub.
func (a *AWS) first(ctx context.Context) (aws.Credentials, time.Time, error) {
	never := time.Now().Add(time.Hour)
	switch {
	case a.AccessKeyID != "":
		return aws.Credentials{AccessKeyID: a.AccessKeyID, SecretAccessKey: a.SecretAccessKey, SessionToken: a.SessionToken}, never, nil
	case a.Env.get("AWS_ACCESS_KEY_ID") != "":
		return aws.Credentials{AccessKeyID: a.Env.get("AWS_ACCESS_KEY_ID"), SecretAccessKey: a.Env.get("AWS_SECRET_ACCESS_KEY"),
			SessionToken: a.Env.get("AWS_SESSION_TOKEN")}, never, nil
	case a.Env.get("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		identity, err := a.Env.file("AWS_WEB_IDENTITY_TOKEN_FILE")
		if err != nil {
			return aws.Credentials{}, never, err
		}
		return a.sts(ctx, url.Values{"Action": {"AssumeRoleWithWebIdentity"}, "RoleArn": {a.Env.get("AWS_ROLE_ARN")},
			"RoleSessionName": {"axle"}, "WebIdentityToken": {identity}}, nil)
	case a.Env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "":
		return a.pod(ctx)
	}
	return aws.Credentials{}, never, errcode.New(errcode.Unauthorized, "the repository has no AWS keys and the hub has no role: neither web identity nor pod identity is set in its environment")
}

// pod asks the agent of EKS pod identity.
func (a *AWS) pod(ctx context.Context) (aws.Credentials, time.Time, error) {
	header := http.Header{}
	if a.Env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") != "" {
		text, err := a.Env.file("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
		if err != nil {
			return aws.Credentials{}, time.Time{}, err
		}
		header.Set("Authorization", text)
	} else if text := a.Env.get("AWS_CONTAINER_AUTHORIZATION_TOKEN"); text != "" {
		header.Set("Authorization", text)
	}
	var said struct {
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		Token           string
		Expiration      time.Time
	}
	err := local(ctx, a.Env.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"), header, &said)
	return aws.Credentials{AccessKeyID: said.AccessKeyID, SecretAccessKey: said.SecretAccessKey, SessionToken: said.Token}, said.Expiration, err
}

func (a *AWS) assume(ctx context.Context, first aws.Credentials) (aws.Credentials, time.Time, error) {
	return a.sts(ctx, url.Values{"Action": {"AssumeRole"}, "RoleArn": {a.AssumeRoleARN}, "RoleSessionName": {"axle"}}, &first)
}

// sts asks the token service, signed where there are keys.
func (a *AWS) sts(ctx context.Context, form url.Values, keys *aws.Credentials) (aws.Credentials, time.Time, error) {
	form.Set("Version", "2011-06-15")
	where := a.Env.get("AWS_ENDPOINT_URL_STS")
	if where == "" {
		where = "https://sts." + a.region() + "." + domain(a.region()) + "/"
	}
	request := wire.Request{Method: http.MethodPost, URL: where, Body: form.Encode(), Accept: []int{400, 403},
		Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}}
	if keys != nil {
		request.Auth = signer{keys: *keys, service: "sts", region: a.region(), body: request.Body}
	}
	answer, err := a.Client.Do(ctx, request)
	if err != nil {
		return aws.Credentials{}, time.Time{}, err
	}
	defer answer.Body.Close()
	raw, err := wire.ReadAll(answer.Body, maxAnswer, "the token service's answer")
	if err != nil {
		return aws.Credentials{}, time.Time{}, err
	}
	var said struct {
		Code string  `xml:"Error>Code"`
		Role stsKeys `xml:"AssumeRoleResult>Credentials"`
		Web  stsKeys `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	}
	if err := xml.Unmarshal(raw, &said); err != nil || answer.StatusCode != http.StatusOK {
		return aws.Credentials{}, time.Time{}, errcode.New(errcode.Unauthorized, "AWS refuses the role: %s %.100s", answer.Status, said.Code)
	}
	got := said.Role
	if got.ID == "" {
		got = said.Web
	}
	return aws.Credentials{AccessKeyID: got.ID, SecretAccessKey: got.Secret, SessionToken: got.Token}, got.Until, nil
}

type stsKeys struct {
	ID     string    `xml:"AccessKeyId"`
	Secret string    `xml:"SecretAccessKey"`
	Token  string    `xml:"SessionToken"`
	Until  time.Time `xml:"Expiration"`
}

func domain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

// signer signs one request with its body.
type signer struct {
	keys            aws.Credentials
	service, region string
	body            string
}

// Apply signs a request by version 4 of AWS's scheme.
func (s signer) Apply(ctx context.Context, r *http.Request) error {
	sum := sha256.Sum256([]byte(s.body))
	hash := hex.EncodeToString(sum[:])
	if s.service == "s3" {
		r.Header.Set("X-Amz-Content-Sha256", hash)
	}
	err := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = s.service == "s3" }).
		SignHTTP(ctx, s.keys, r, hash, s.service, s.region, time.Now())
	if err != nil {
		return errcode.Hide(errcode.Internal, err, "the request to AWS cannot be signed")
	}
	return nil
}

// S3 signs requests to a bucket.
func (a *AWS) S3() wire.Auth { return s3auth{a} }

type s3auth struct{ aws *AWS }

// Apply signs a request without a body.
func (s s3auth) Apply(ctx context.Context, r *http.Request) error {
	if s.aws.own() {
		if err := s.aws.Env.mayLeave(r.URL.Host, awsHosts...); err != nil {
			return err
		}
	}
	keys, err := s.aws.credentials(ctx)
	if err != nil {
		return err
	}
	return signer{keys: keys, service: "s3", region: s.aws.region()}.Apply(ctx, r)
}

// ecr is the host of a private registry: account, dkr, ecr, region.
var ecr = regexp.MustCompile(`^(\d{12})\.dkr[.-]ecr(?:-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|on\.aws)$`)

// Registry returns user and password for ECR, which are good for 12 h.
func (a *AWS) Registry(ctx context.Context, host string) (user, password string, err error) {
	region := a.region()
	if m := ecr.FindStringSubmatch(host); m != nil {
		region = m[2]
	} else if a.own() {
		if err := a.Env.mayLeave(host, ".on.aws"); err != nil {
			return "", "", err
		}
	}
	password, err = a.password.get(func() (string, time.Time, error) { return a.ask(ctx, region) })
	return "AWS", password, err
}

// ask calls GetAuthorizationToken.
func (a *AWS) ask(ctx context.Context, region string) (string, time.Time, error) {
	keys, err := a.credentials(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	where := a.Endpoint
	if where == "" {
		where = "https://api.ecr." + region + "." + domain(region) + "/"
	}
	answer, err := a.Client.Do(ctx, wire.Request{Method: http.MethodPost, URL: where, Body: "{}", Accept: []int{400, 403},
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {"AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"}},
		Auth:   signer{keys: keys, service: "ecr", region: region, body: "{}"}})
	if err != nil {
		return "", time.Time{}, err
	}
	defer answer.Body.Close()
	raw, err := wire.ReadAll(answer.Body, maxAnswer, "ECR's answer")
	if err != nil {
		return "", time.Time{}, err
	}
	var said struct {
		Type string `json:"__type"`
		Data []struct {
			Token   string  `json:"authorizationToken"`
			Expires float64 `json:"expiresAt"`
		} `json:"authorizationData"`
	}
	if json.Unmarshal(raw, &said) != nil || answer.StatusCode != http.StatusOK || len(said.Data) == 0 {
		return "", time.Time{}, errcode.New(errcode.Unauthorized, "ECR gives no token: %s %.100s", answer.Status, said.Type)
	}
	plain, err := base64.StdEncoding.DecodeString(said.Data[0].Token)
	if err != nil {
		return "", time.Time{}, errcode.New(errcode.Unavailable, "ECR gives a token that cannot be read")
	}
	_, password, _ := strings.Cut(string(plain), ":")
	return password, time.Unix(int64(said.Data[0].Expires), 0), nil
}
