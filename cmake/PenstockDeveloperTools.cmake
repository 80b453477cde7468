# Adds targets for those who change penstock: format-check, format and tidy. They look at the files that git knows.
find_program(CLANG_FORMAT clang-format)
find_program(RUN_CLANG_TIDY run-clang-tidy)
set(sources "git ls-files -- '*.hpp' '*.cpp'")

if(CLANG_FORMAT)
  add_custom_target(format-check COMMAND sh -c "${sources} | xargs ${CLANG_FORMAT} --dry-run --Werror"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
  add_custom_target(format COMMAND sh -c "${sources} | xargs ${CLANG_FORMAT} -i"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()
if(RUN_CLANG_TIDY)
  add_custom_target(tidy
    COMMAND ${RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR}
      "^${PROJECT_SOURCE_DIR}/(base|formats|transforms|remote|device|order|storage|record|loader|staging|pack|overview|penstock|bench|bindings)/.*[.]cpp$"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()
