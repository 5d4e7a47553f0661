package cloudauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"

	"github.com/axle-cd/axle/hub/gitcache/upstream/wire"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

// AWS holds access keys, or none for the hub's own role.
type AWS struct {
	AccessKeyID, SecretAccessKey, SessionToken string
	AssumeRoleARN, Region                      string
	// HubIdentity allows the hub's own role; without it, keys are required.
	HubIdentity bool
	// Endpoint replaces the endpoint of ECR's API.
	Endpoint string
	Client   *wire.Client
	Env      Environment

	once     sync.Once
	keys     *aws.CredentialsCache
	broken   error // why there is none
	password cell[string]
}

const defaultRegion = "us-east-1"

func (a *AWS) own() bool { return a.AccessKeyID == "" }

// mayLeave refuses to send the hub's own credentials for a repository without
// HubIdentity, or to hosts other than the service's.
func (a *AWS) mayLeave(to *url.URL, service hosts) error {
	if !a.own() {
		return nil
	}
	return a.Env.mayLeave(a.HubIdentity, a.Client, to, service)
}

func (a *AWS) region() string {
	for _, r := range []string{a.Region, a.Env.get("AWS_REGION"), a.Env.get("AWS_DEFAULT_REGION")} {
		if r != "" {
			return r
		}
	}
	return defaultRegion
}

// credentials returns the keys to sign with: those of the assumed role, if
// there is one.
func (a *AWS) credentials(ctx context.Context) (aws.Credentials, error) {
	a.once.Do(func() {
		provider, err := a.provider()
		a.keys, a.broken = aws.NewCredentialsCache(provider, func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = early }), err
	})
	if a.broken != nil {
		return aws.Credentials{}, a.broken
	}
	keys, err := a.keys.Retrieve(ctx)
	return keys, refusedRole(err)
}

// refusedRole gives a provider's error a code. Its own text may quote an answer.
func refusedRole(err error) error {
	var coded *errcode.Error
	var answer smithy.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &coded):
		return coded
	case errors.As(err, &answer):
		return errcode.Hide(errcode.Unauthorized, err, "AWS refuses the role: %.100s", answer.ErrorCode())
	}
	return errcode.Hide(errcode.Unauthorized, err, "there are no AWS keys: none are given, and neither the hub's environment (variables, web identity, pod identity) nor its machine gives a role")
}

// provider returns the SDK's provider of the repository's or the hub's keys,
// or of the role that is assumed with them.
func (a *AWS) provider() (aws.CredentialsProvider, error) {
	first := a.first()
	if a.AssumeRoleARN == "" && first != nil {
		return first, nil
	}
	endpoint, err := a.Env.get("AWS_ENDPOINT_URL_STS"), error(nil)
	if endpoint == "" {
		endpoint, err = serviceURL("sts", a.region())
	}
	service := sts.Options{Region: a.region(), BaseEndpoint: &endpoint, HTTPClient: a.Client.Limited(maxAnswer), Retryer: aws.NopRetryer{}, Logger: logging.Nop{}}
	if first == nil {
		first = stscreds.NewWebIdentityRoleProvider(sts.New(service), a.Env.get("AWS_ROLE_ARN"), identityFile{a.Env},
			func(o *stscreds.WebIdentityRoleOptions) { o.RoleSessionName = sessionName })
	}
	if a.AssumeRoleARN == "" {
		return first, err
	}
	service.Credentials = first
	return stscreds.NewAssumeRoleProvider(sts.New(service), a.AssumeRoleARN, func(o *stscreds.AssumeRoleOptions) { o.RoleSessionName = sessionName }), err
}

const (
	sessionName     = "axle"
	webIdentityFile = "AWS_WEB_IDENTITY_TOKEN_FILE"
)

// first returns the keys of the repository, or those of the hub in the order of
// the SDK: variables, a web identity (nil), a pod's, the machine's.
func (a *AWS) first() aws.CredentialsProvider {
	env := a.Env.get
	pod := env("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if path := env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		pod = "http://169.254.170.2" + path
	}
	switch {
	case !a.own():
		return credentials.NewStaticCredentialsProvider(a.AccessKeyID, a.SecretAccessKey, a.SessionToken)
	case env("AWS_ACCESS_KEY_ID") != "":
		return credentials.NewStaticCredentialsProvider(env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY"), env("AWS_SESSION_TOKEN"))
	case env(webIdentityFile) != "":
		return nil
	case pod != "":
		return endpointcreds.New(pod, func(o *endpointcreds.Options) {
			o.HTTPClient, o.Retryer, o.AuthorizationToken = metadata, aws.NopRetryer{}, env("AWS_CONTAINER_AUTHORIZATION_TOKEN")
			if file := "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"; env(file) != "" {
				o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(func() (string, error) { return a.Env.file(file) })
			}
		})
	}
	state := imds.ClientEnabled
	if strings.EqualFold(env("AWS_EC2_METADATA_DISABLED"), "true") {
		state = imds.ClientDisabled
	}
	return ec2rolecreds.New(func(o *ec2rolecreds.Options) {
		o.Client = imds.New(imds.Options{Endpoint: env("AWS_EC2_METADATA_SERVICE_ENDPOINT"), HTTPClient: metadata, Retryer: aws.NopRetryer{},
			ClientEnableState: state, EnableFallback: aws.FalseTernary, Logger: logging.Nop{}})
	})
}

// identityFile is the token of the hub's service account, read again for each
// call.
type identityFile struct{ env Environment }

// GetIdentityToken implements stscreds.IdentityTokenRetriever.
func (i identityFile) GetIdentityToken() ([]byte, error) {
	text, err := i.env.file(webIdentityFile)
	return []byte(text), err
}

// signer signs one request with its body.
type signer struct {
	keys            aws.Credentials
	service, region string
	body            string
}

// Apply signs a request with AWS Signature Version 4. The SDK's client of S3 has
// hashed the body already.
func (s signer) Apply(ctx context.Context, r *http.Request) error {
	hash := r.Header.Get("X-Amz-Content-Sha256")
	if hash == "" {
		sum := sha256.Sum256([]byte(s.body))
		hash = hex.EncodeToString(sum[:])
	}
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

// Apply signs a request.
func (s s3auth) Apply(ctx context.Context, r *http.Request) error {
	if err := s.aws.mayLeave(r.URL, awsService("s3")); err != nil {
		return err
	}
	keys, err := s.aws.credentials(ctx)
	if err != nil {
		return err
	}
	return signer{keys: keys, service: "s3", region: s.aws.region()}.Apply(ctx, r)
}

// Registry returns user and password for ECR, which are valid for 12 h.
func (a *AWS) Registry(ctx context.Context, host string) (user, password string, err error) {
	region, known := registryOf(host)
	if !known {
		region = a.region()
	}
	if err := a.mayLeave(&url.URL{Scheme: "https", Host: host}, func(string) bool { return known }); err != nil {
		return "", "", err
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
		if where, err = serviceURL("api.ecr", region); err != nil {
			return "", time.Time{}, err
		}
	} else if u, err := url.Parse(where); err != nil {
		return "", time.Time{}, errcode.New(errcode.Invalid, "the endpoint is not a URL")
	} else if err := a.mayLeave(u, awsService("api.ecr")); err != nil {
		return "", time.Time{}, err
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
	if bounded.JSON(raw, &said, bounded.Most(maxAnswer)) != nil || answer.StatusCode != http.StatusOK || len(said.Data) == 0 {
		return "", time.Time{}, errcode.New(errcode.Unauthorized, "ECR gives no token: %s %.100s", answer.Status, said.Type)
	}
	plain, err := base64.StdEncoding.DecodeString(said.Data[0].Token)
	if err != nil {
		return "", time.Time{}, errcode.New(errcode.Unavailable, "ECR gives a token that cannot be read")
	}
	_, password, _ := strings.Cut(string(plain), ":")
	return password, time.Unix(int64(said.Data[0].Expires), 0), nil
}
