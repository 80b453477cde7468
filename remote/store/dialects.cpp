#include <remote/azure/azure_dialect.hpp>
#include <remote/credentials/key_requests.hpp>
#include <remote/gcs/google_service.hpp>
#include <remote/s3/aws_service.hpp>
#include <remote/s3/bucket_dialect.hpp>
#include <remote/store/dialects.hpp>
#include <remote/web/web_dialect.hpp>

namespace penstock {

std::vector<std::unique_ptr<Dialect>> make_dialects(Transport& transport) {
  const KeyRequest ask = key_requests(transport);
  std::vector<std::unique_ptr<Dialect>> dialects;
  dialects.push_back(std::make_unique<BucketDialect>(std::make_unique<AwsService>(ask)));
  dialects.push_back(std::make_unique<BucketDialect>(std::make_unique<GoogleService>(ask)));
  dialects.push_back(std::make_unique<AzureDialect>());
  dialects.push_back(std::make_unique<WebDialect>());
  return dialects;
}

}  // namespace penstock
