package terraform

import (
	"maps"
	"net/url"
	"regexp"
	"time"

	"github.com/axle-cd/axle/internal/email"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/liquid"
	"github.com/axle-cd/axle/internal/syncwindow"
	"github.com/axle-cd/axle/terraform/shape"
)

// Values that the hub takes.
var (
	cascades  = []string{"", "delete", "detach"}
	distros   = []string{"", "GENERIC", "EKS", "AKS", "GKE", "RKE", "K3S", "OPENSHIFT"}
	subjects  = []string{"user", "service_account", "group"}
	renderers = []string{"AUTO", "RAW", "HELM", "KUSTOMIZE", "JSONNET", "CUE", "EXEC", "WASM"}
)

// rules are what messages do not say about their fields. What is checked here is checked
// without a hub; the hub checks more when it is asked about a plan.
var rules = shape.Rules{
	"CreateProjectRequest.name":        {Required: true, Replaces: true, Check: name},
	"CreateProjectRequest.limits":      {Skip: true},
	"UpdateProjectRequest.name":        {Required: true, Replaces: true, As: "project", Says: "The project."},
	"UpdateProjectRequest.description": {Skip: true},
	"UpdateProjectRequest.limits":      {Flat: true},
	"ProjectLimits.namespaces":         {Unordered: true},
	"ProjectLimits.kinds":              {Unordered: true},

	"CreateClusterRequest.name":        {Required: true, Replaces: true, Check: name},
	"CreateClusterRequest.handle":      {SameAs: "name", Check: name, Says: "The short name used in URLs and templates."},
	"CreateClusterRequest.project":     {Computed: true, Replaces: true, Says: "The project of the cluster. Empty is the default one."},
	"CreateClusterRequest.metadata":    {JSON: true, Default: "{}", Says: "A JSON object, for templates."},
	"CreateClusterRequest.renew_token": {Skip: true},

	"CreateRepositoryRequest.name":            {Required: true, Replaces: true, Check: name},
	"CreateRepositoryRequest.project":         {Computed: true, Replaces: true, Says: "The project of the repository. Empty is the default one."},
	"CreateRepositoryRequest.type":            {Replaces: true, Default: "git", OneOf: []string{"git", "helm", "oci", "bucket"}, Says: "git, helm, oci or bucket."},
	"CreateRepositoryRequest.url":             {Required: true, Says: "Where the repository is. Stored credentials never follow a change of it: give them anew."},
	"CreateRepositoryRequest.credentials":     {Secret: true, Says: "How the hub logs in."},
	"CreateRepositoryRequest.auth":            {Derived: true, OneOf: []string{"none", "basic", "token", "ssh", "app", "bearer", "aws", "gcp", "azure"}},
	"RepositoryOptions.max_bytes":             {Default: int64(0)},
	"RepositoryOptions.plain_http":            {Default: false},
	"RepositoryOptions.pass_credentials":      {Default: false},
	"RepositoryOptions.hub_identity":          {Default: false},
	"Verification.mode":                       {OneOf: []string{"", "head", "tag", "cosign", "provenance"}},
	"CreateWebhookRequest.name":               {Required: true, Replaces: true, Check: name},
	"CreateWebhookRequest.provider":           {As: "scm_provider", Says: "github, gitlab, gitea, bitbucket, azure or generic.", Required: true, Replaces: true, OneOf: []string{"github", "gitlab", "gitea", "bitbucket", "azure", "generic"}},
	"CreateWebhookRequest.repository":         {Replaces: true, Says: "The only repository that it may kick; empty allows any whose URL a delivery names."},
	"CreateWebhookRequest.secret":             {Required: true, Secret: true, Says: "The secret that deliveries are signed with, at least 16 bytes."},
	"CreateServiceRequest.ref":                {Flat: true},
	"CreateServiceRequest.spec":               {Flat: true},
	"CreateServiceRequest.project":            {Computed: true, Replaces: true, Says: "The project of the service; empty is that of the cluster."},
	"CreateServiceRequest.dry_run":            {Skip: true},
	"ServiceRef.cluster":                      {Required: true, Replaces: true, Says: "The cluster, by name."},
	"ServiceRef.name":                         {Required: true, Replaces: true, Check: name, Says: "The name of the service, unique on its cluster."},
	"ServiceSpec.namespace":                   {SameAs: "name"},
	"ServiceSpec.secrets":                     {Secret: true, Says: "Values that are stored as secrets, by key."},
	"ServiceSpec.templated":                   {Default: true},
	"ServiceSpec.protect":                     {Default: false},
	"ServiceSpec.detach":                      {Default: false},
	"ServiceSpec.adopt":                       {Default: false},
	"ServiceSpec.dry_run":                     {Default: false, Says: "Writes nothing to the cluster; what would change is reported."},
	"ServiceSpec.drift":                       {OneOf: []string{"", "report", "strict"}},
	"Git.ref":                                 {Check: template},
	"Git.folder":                              {Check: template},
	"Helm.version":                            {Check: template},
	"Helm.chart":                              {Check: template},
	"SyncConfig.create_namespace":             {Default: true},
	"SyncConfig.require_ownership":            {Default: true},
	"SyncConfig.prune":                        {Default: true},
	"Renderer.type":                           {OneOf: renderers},
	"SyncWindow.kind":                         {Required: true, OneOf: []string{"allow", "deny"}},
	"SyncWindow.schedule":                     {Required: true, Check: cron},
	"SyncWindow.duration":                     {Required: true, Check: length},
	"SyncWindow.time_zone":                    {Check: zone},
	"SyncWindow.manual_sync":                  {Default: false},
	"ApplyGlobalServiceRequest.name":          {Required: true, Replaces: true, Check: name},
	"ApplyGlobalServiceRequest.settings":      {Flat: true},
	"ApplyGlobalServiceRequest.spec":          {Required: true, As: "template"},
	"ApplyGlobalServiceRequest.dry_run":       {Skip: true},
	"GlobalServiceSettings.distro":            {OneOf: distros},
	"GlobalServiceSettings.cascade":           {OneOf: cascades},
	"GlobalServiceSettings.mgmt":              {Default: true},
	"GlobalServiceSettings.reparent":          {Default: false},
	"GlobalServiceSettings.interval_micros":   {Skip: true},
	"GlobalServiceSettings.context":           {JSON: true},
	"GlobalServiceSettings.ignore_clusters":   {Unordered: true},
	"ApplyManagedNamespaceRequest.name":       {Required: true, Replaces: true, Check: name},
	"ApplyManagedNamespaceRequest.settings":   {Flat: true},
	"ApplyManagedNamespaceRequest.spec":       {As: "service"},
	"ApplyManagedNamespaceRequest.dry_run":    {Skip: true},
	"ManagedNamespaceSettings.distro":         {OneOf: distros},
	"ManagedNamespaceSettings.cascade":        {OneOf: cascades},
	"ManagedNamespaceSettings.pull_secrets":   {Unordered: true},
	"CreateContextRequest.context":            {Flat: true},
	"PutOutputsRequest.outputs":               {Flat: true},
	"PutOutputsRequest.global":                {Skip: true},
	"Context.name":                            {Required: true, Replaces: true, Check: name},
	"Context.values":                          {JSON: true, Default: "{}"},
	"Context.secrets":                         {Secret: true, Says: "Values that are stored as secrets, by key."},
	"Context.services":                        {Skip: true},
	"Context.updated_at":                      {Skip: true},
	"Context.updated_by":                      {Skip: true},
	"Context.version":                         {Skip: true},
	"Context.managed_by":                      {Skip: true},
	"StartUpgradeRequest.version":             {Computed: true},
	"StartUpgradeRequest.waves":               {Computed: true},
	"SyncWindowList.sync_windows":             {Required: true, Says: "The windows; an empty list is none."},
	"SyncWindowList.managed_by":               {Skip: true},
	"CreateUserRequest.email":                 {Required: true, Replaces: true, Fold: true, Other: "name", Check: mailbox, Says: "The user's e-mail address."},
	"CreateUserRequest.admin":                 {Skip: true},
	"CreateUserRequest.token_scopes":          {Skip: true},
	"CreateUserRequest.token_lifetime_micros": {Skip: true},
	"SetAdminRequest.name":                    {Fold: true, Required: true, Replaces: true, As: "user", Says: "The e-mail address of a user, or the name of a service account."},
	"SetAdminRequest.admin":                   {Skip: true},
	"CreateGroupRequest.name":                 {Required: true, Replaces: true},
	"CreateGroupRequest.description":          {Says: "For people. A change makes another group, without the members and rights of this one."},
	"AddMemberRequest.group":                  {Required: true, Replaces: true, Says: "The group."},
	"AddMemberRequest.user":                   {Required: true, Replaces: true, Says: "The e-mail address of a user, or the name of a service account."},
	"CreateBindingRequest.subject_kind":       {Required: true, Replaces: true, OneOf: subjects},
	"CreateBindingRequest.subject":            {Required: true, Replaces: true, Says: "Who gets the rights, by name or e-mail address."},
	"CreateBindingRequest.actions":            {Required: true, Unordered: true, OneOf: []string{"read", "write", "create", "git"}, Says: "read, write, create or git."},
	"CreateBindingRequest.place":              {Flat: true},
	"Place.project":                           {Replaces: true, Says: "The project. With no project, cluster and service, it is the whole hub."},
	"Place.cluster":                           {Replaces: true, Says: "The cluster, by name."},
	"Place.service":                           {Replaces: true, Says: "The service, by name; it needs its cluster."},
	"CreateServiceAccountRequest.name":        {Required: true, Replaces: true, Check: account},
	"CreateServiceAccountRequest.admin":       {Skip: true},
	"CreateTrustRequest.name":                 {Required: true, Replaces: true, Check: name},
	"CreateTrustRequest.issuer":               {Required: true, Replaces: true, Check: address, Says: "The token's iss, an https URL with OpenID discovery."},
	"CreateTrustRequest.audience":             {Required: true, Replaces: true, Says: "One of the token's aud must equal this."},
	"CreateTrustRequest.claims":               {Required: true, Replaces: true, Says: "Each pattern must match the whole claim: a glob, or a regular expression between slashes."},
	"CreateTrustRequest.account":              {Required: true, Replaces: true, Says: "The service account, by name."},
	"CreateTrustRequest.scopes":               {Computed: true, Replaces: true, Says: "read, write or admin; empty is read."},
	"CreateTrustRequest.lifetime_micros":      {Computed: true, Replaces: true, Says: "How long exchanged tokens live, at most 1 h."},
	"CreateTrustRequest.ca_pem":               {Replaces: true},
	"CreateProviderRequest.provider":          {Flat: true},
	"CreateProviderRequest.client_secret":     {Secret: true},
	"Provider.id":                             {Skip: true},
	"Provider.name":                           {Required: true, Replaces: true, Check: name},
	"Provider.title":                          {SameAs: "name"},
	"Provider.issuer":                         {Required: true, Replaces: true, Check: address},
	"Provider.client_id":                      {Required: true},
	"Provider.scopes":                         {Computed: true},
	"Provider.email_domains":                  {Unordered: true},
	"Provider.allow_unverified":               {Default: false},
	"Provider.created_at":                     {Skip: true},
	"Provider.callback_url":                   {Skip: true},
	"Provider.logout_url":                     {Skip: true},
	"Provider.managed_by":                     {Skip: true},
	"ApplyNotificationSinkRequest.name":       {Required: true, Replaces: true, Check: name},
	"ApplyNotificationSinkRequest.settings":   {Flat: true},
	"ApplyNotificationSinkRequest.url":        {Secret: true},
	"ApplyNotificationSinkRequest.secret":     {Secret: true},
	"ApplyNotificationSinkRequest.unsigned":   {Default: false},
	"ApplyNotificationSinkRequest.dry_run":    {Skip: true},
	"NotificationSinkSettings.type":           {Required: true, Replaces: true, OneOf: []string{"SLACK", "TEAMS", "WEBHOOK", "PLURAL"}},
	"NotificationSinkSettings.project":        {Replaces: true},
	"NotificationSinkSettings.priority":       {Computed: true, OneOf: []string{"", "LOW", "MEDIUM", "HIGH"}},
	"NotificationSinkSettings.users":          {Unordered: true},
	"NotificationSinkSettings.groups":         {Unordered: true},
	"ApplyNotificationRouterRequest.name":     {Required: true, Replaces: true, Check: name},
	"ApplyNotificationRouterRequest.settings": {Flat: true},
	"ApplyNotificationRouterRequest.dry_run":  {Skip: true},
	"NotificationRouterSettings.project":      {Replaces: true},
	"NotificationRouterSettings.events":       {Required: true, Unordered: true},
	"NotificationRouterSettings.sinks":        {Required: true, Unordered: true},
	"NotificationFilter.regex":                {Check: expression},
}

// withManagement are the rules, and that no attribute says how a call is made.
var withManagement = func() shape.Rules {
	out := shape.Rules{}
	maps.Copy(out, rules)
	for _, k := range all {
		out[string(k.create.in.ProtoReflect().Descriptor().Name())+".management"] = shape.Rule{Skip: true}
	}
	return out
}()

var (
	label       = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$`)
	accountName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$`)
)

func invalid(format string, args ...any) error { return errcode.New(errcode.Invalid, format, args...) }

func name(text string) error {
	if !label.MatchString(text) {
		return invalid("%.80q is not a name; use up to 63 lower case letters, digits and dashes, with a letter or digit at both ends", text)
	}
	return nil
}

func account(text string) error {
	if !accountName.MatchString(text) {
		return invalid("%.80q is not a valid service account name; use up to 63 small letters, digits, dashes and dots", text)
	}
	return nil
}

func mailbox(text string) error {
	if address, ok := email.Parse(text); !ok || address != text {
		return invalid("%.80q is not an e-mail address in ASCII; users are identified by one", text)
	}
	return nil
}

func address(text string) error {
	if parsed, err := url.Parse(text); err != nil || parsed.Host == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return invalid("%.200q is not a URL such as https://issuer.example.com", text)
	}
	return nil
}

func cron(text string) error {
	if _, err := syncwindow.ParseSchedule(text); err != nil {
		return invalid("%.80q is no cron schedule: %v", text, err)
	}
	return nil
}

func length(text string) error {
	if d, err := time.ParseDuration(text); err != nil || d <= 0 {
		return invalid("%.80q is not a duration such as 1h30m", text)
	}
	return nil
}

func zone(text string) error {
	if _, err := time.LoadLocation(text); err != nil {
		return invalid("%.80q is not a time zone such as Europe/Berlin", text)
	}
	return nil
}

func expression(text string) error {
	if _, err := regexp.Compile(text); err != nil {
		return invalid("%.200q is not a regular expression (RE2): %v", text, err)
	}
	return nil
}

// template checks Liquid of a text that the hub renders for each cluster.
func template(text string) error {
	if err := liquid.New(nil, time.Time{}).Check([]byte(text)); err != nil {
		return invalid("%.200q is no Liquid: %v", text, err)
	}
	return nil
}
